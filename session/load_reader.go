package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpsession/mcpsession/internal/header"
)

// readEntry returns what an entry says, or all that is wrong with it.
func readEntry(value json.RawMessage) (*configured, []error) {
	all, isObject := fieldsOf(value)
	if !isObject {
		return nil, []error{errors.New("it is no JSON object")}
	}
	r := &entryReader{keys: make(map[string]json.RawMessage, len(all))}
	for _, m := range all {
		r.keys[m.key] = m.value
	}
	if twice := repeated(all); len(twice) > 0 {
		r.fault("the keys %s stand there more than once", quoted(twice))
	}
	c := &r.configured
	if value, ok := r.keys["disabled"]; ok && json.Unmarshal(value, &c.disabled) != nil {
		r.fault(`"disabled" must be true or false`)
	}
	if c.disabled {
		return c, r.errs
	}
	r.checkKeys(all)
	r.readKind()
	switch c.kind {
	case "stdio":
		r.readCommand()
	case "http", "sse":
		r.readRemote()
	}
	return c, r.errs
}

// An entryReader reads one entry and collects what is wrong with it.
type entryReader struct {
	configured
	keys map[string]json.RawMessage
	errs []error
}

func (r *entryReader) fault(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

func (r *entryReader) has(key string) bool { _, ok := r.keys[key]; return ok }

func (r *entryReader) checkKeys(all []field) {
	var unknown []string
	for _, m := range all {
		remedy, refused := refusedKeys[m.key]
		switch {
		case refused:
			r.fault("%q %s", m.key, remedy)
		case !slices.Contains(entryKeys, m.key) && !slices.Contains(ignoredKeys, m.key):
			unknown = append(unknown, m.key)
		}
	}
	if len(unknown) > 0 {
		r.fault("the keys %s are unknown; it may have %s", quoted(unknown), quoted(entryKeys))
	}
}

// readKind finds out what kind of server it is, and which keys have no place there.
func (r *entryReader) readKind() {
	kind, isString := "", true
	if value, ok := r.keys["type"]; ok {
		kind, isString = stringOf(value)
	}
	switch kind {
	case "stdio", "sse":
	case "http", "streamable-http", "streamableHttp":
		kind = "http"
	case "":
		kind = "stdio"
		if r.has("url") && !r.has("command") {
			kind = "http"
		}
	default:
		isString = false
	}
	if !isString {
		r.fault(`"type" must be "stdio", "http" (or "streamable-http", "streamableHttp") or "sse"`)
		return
	}
	r.kind = kind
	needs, others := "command", []string{"url", "headers"}
	if kind != "stdio" {
		needs, others = "url", []string{"command", "args", "env", "cwd"}
	}
	if r.has("command") && r.has("url") {
		r.fault(`it has both "command" and "url"; keep the one that it is`)
		return
	}
	if !r.has(needs) {
		what := "a server of type " + kind
		if !r.has("type") {
			needs, what = `command" or a "url`, "a server"
		}
		r.fault("%s needs a \"%s\"", what, needs)
	}
	for _, key := range others {
		if r.has(key) && r.has(needs) {
			r.fault("%q has no place beside %q", key, needs)
		}
	}
}

func (r *entryReader) readCommand() {
	r.command = r.text("command")
	if r.has("command") && r.command == "" && len(r.errs) == 0 {
		r.fault(`"command" is empty`)
	}
	r.cwd = r.text("cwd")
	if value, ok := r.keys["args"]; ok {
		var args []json.RawMessage
		if json.Unmarshal(value, &args) != nil || args == nil {
			r.fault(`"args" must be a list of strings`)
		}
		for i, arg := range args {
			r.args = append(r.args, r.expand(fmt.Sprintf("args[%d]", i), arg, false))
		}
	}
	for _, m := range r.object("env") {
		if m.key == "" || strings.ContainsAny(m.key, "=\x00") {
			r.fault(`"env" has a key that is no variable's name`)
			continue
		}
		r.env = append(r.env, m.key+"="+r.expand("env."+m.key, m.value, true))
	}
}

func (r *entryReader) readRemote() {
	r.url = r.text("url")
	r.header = make(http.Header)
	for _, m := range r.object("headers") {
		// Case does not count in the name of a header: both values would be sent.
		name := http.CanonicalHeaderKey(m.key)
		if _, twice := r.header[name]; twice {
			r.fault("%.90q is a header that is there already; case does not count in its name", "headers."+m.key)
			continue
		}
		value := r.expand("headers."+m.key, m.value, false)
		if wrong := header.Fault(m.key, value); wrong != "" {
			r.fault("%.90q %s", "headers."+m.key, wrong)
			continue
		}
		r.header[name] = []string{value}
	}
}

// text returns the string of a key, empty where there is none.
func (r *entryReader) text(key string) string {
	value, ok := r.keys[key]
	if !ok {
		return ""
	}
	return r.expand(key, value, false)
}

// object returns the members of a key's object.
func (r *entryReader) object(key string) []field {
	value, ok := r.keys[key]
	if !ok {
		return nil
	}
	all, isObject := fieldsOf(value)
	if !isObject {
		r.fault("%q must be an object of strings", key)
	}
	if twice := repeated(all); len(twice) > 0 {
		r.fault("%q has %s more than once", key, quoted(twice))
	}
	return all
}

// expand returns a string of the file with its variables replaced; of a number, if
// that will do, its digits.
func (r *entryReader) expand(where string, value json.RawMessage, orNumber bool) string {
	text, ok := stringOf(value)
	switch {
	case ok:
	case orNumber && len(value) > 0 && strings.ContainsRune("-0123456789", rune(value[0])):
		return string(value)
	default:
		r.fault("%.90q must be a string", where)
		return ""
	}
	expanded, values, errs := expandVariables(text)
	for _, err := range errs {
		r.fault("%.90q: %w", where, err)
	}
	if strings.ContainsRune(expanded, 0) {
		r.fault("%.90q holds a zero byte", where)
	}
	r.secrets = append(r.secrets, values...)
	return expanded
}
