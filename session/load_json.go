package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A field is one member of a JSON object, in the order of the file. The library's maps
// would keep the last of two with one key, without a word.
type field struct {
	key   string
	value json.RawMessage
}

// fieldsOf returns the members of a JSON object, or reports that the value, which is
// valid JSON, is none.
func fieldsOf(value json.RawMessage) (all []field, isObject bool) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, false
		}
		m := field{}
		m.key, _ = key.(string)
		if err := decoder.Decode(&m.value); err != nil {
			return nil, false
		}
		all = append(all, m)
	}
	return all, true
}

// checkJSON returns the file's JSON without a byte order mark. Its error says where the
// file is none, and quotes nothing: what stands there may be a secret.
func checkJSON(text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if i := invalidUTF8(text); i >= 0 {
		return nil, fmt.Errorf("is no UTF-8 text at %s; save it as UTF-8", position(text, i))
	}
	var any json.RawMessage
	err := json.Unmarshal(text, &any)
	if err == nil {
		return text, nil
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return nil, errors.New("is no JSON")
	}
	at := max(int(syntax.Offset)-1, 0)
	// The library tells an end that came too soon only by its words.
	if at >= len(text) || syntax.Error() == "unexpected end of JSON input" {
		return nil, fmt.Errorf("ends at %s before its JSON does; is a quote or a bracket missing?", position(text, len(text)))
	}
	hint := ""
	switch before := bytes.TrimSpace(text[:at]); {
	case text[at] == '/':
		hint = "; comments, which some editors allow there, must be taken out"
	case (text[at] == '}' || text[at] == ']') && bytes.HasSuffix(before, []byte(",")):
		hint = "; take out the comma before the closing bracket"
	}
	return nil, fmt.Errorf("is no JSON at %s%s", position(text, at), hint)
}

func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// position says where byte i of a text is, as editors count.
func position(text []byte, i int) string {
	before := text[:min(i, len(text))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d", line, column)
}

func keysOf(all []field) []string {
	keys := make([]string, 0, len(all))
	for _, m := range all {
		keys = append(keys, m.key)
	}
	return keys
}

// repeated returns the keys that more than one member has, each once.
func repeated(all []field) (keys []string) {
	seen := make(map[string]int, len(all))
	for _, m := range all {
		if seen[m.key]++; seen[m.key] == 2 {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// quoted returns keys for an error text, each bounded.
func quoted(keys []string) string {
	if len(keys) == 0 {
		return "no key at all"
	}
	const most = 20
	var texts []string
	for i, key := range keys {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(keys)-most))
			break
		}
		texts = append(texts, fmt.Sprintf("%.80q", key))
	}
	return strings.Join(texts, ", ")
}
