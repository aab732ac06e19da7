package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcpsession/mcpsession/queue"
)

// MaxConfiguration is how many bytes a configuration file for [Load] may have.
const MaxConfiguration = 4 << 20

// Load reads the servers of a configuration file as Claude Desktop, Claude Code,
// Cursor (mcpServers) and VS Code (servers) have it, in the order of the file:
//
//	{"mcpServers": {
//		"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
//		"tracker": {"url": "https://tracker.example/mcp", "headers": {"Authorization": "Bearer ${TRACKER_TOKEN}"}}
//	}}
//
// A server has these keys; case counts:
//
//	command, args   the program, found in the PATH that it gets, and its arguments
//	env             what it gets beyond the base environment (see package transport)
//	cwd             its directory; the worker's without it, and relative to that
//	url, headers    where a server over HTTP is, and what each request carries
//	type            stdio with a command; http, streamable-http or streamableHttp
//	                with a url, which are one and the default; sse
//	disabled        true leaves the server out
//
// What a host's user interface keeps of a server is ignored: alwaysAllow,
// alwaysLoad, autoApprove, description, dev, gallery, icon, title, version. Beside the
// servers, $schema, globalShortcut, inputs and preferences are. Any other key is an
// error: it may change what the server does or may do.
//
// # Variables
//
// In the values of command, args, env, cwd, url and headers, these are replaced, once,
// when the file is loaded:
//
//	${VAR}, ${env:VAR}   the worker's variable; unset is an error, empty is not
//	${VAR:-text}         the same, or the text when it is unset
//	${userHome}          the worker's home directory
//	$${                  the characters ${
//
// $VAR stays as it is. What an editor would ask or know, such as ${input:token} and
// ${workspaceFolder}, is an error that says what to write instead.
//
// # Errors
//
// Load returns all errors of a file at once, each with the server and the key. They
// hold names, never a value of the file or of a variable. Nor does anything that a
// session logs or tells later, except for command, cwd and the host of url, which are
// no places for a secret. What the variables give, and all of env and of headers, is cut
// out of the server's stderr and of what it says in errors; see
// [transport.CommandOptions] for what that can't find.
//
// The file must be JSON without comments, of at most [MaxConfiguration] bytes.
func Load(r io.Reader) ([]Server, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxConfiguration+1))
	if err != nil {
		return nil, fmt.Errorf("session: read the configuration: %w", err)
	}
	if len(text) > MaxConfiguration {
		return nil, fmt.Errorf("session: the configuration has more than %d bytes; is it the file with mcpServers?", MaxConfiguration)
	}
	if text, err = checkJSON(text); err != nil {
		return nil, fmt.Errorf("session: the configuration %w", err)
	}
	listed, err := listedServers(text)
	if err != nil {
		return nil, fmt.Errorf("session: the configuration %w", err)
	}
	var servers []Server
	var faults []error
	for _, m := range listed {
		server, enabled, errs := loadServer(m)
		for _, err := range errs {
			faults = append(faults, fmt.Errorf("session: the configuration's server %.80q: %w", m.key, err))
		}
		if enabled && len(errs) == 0 {
			servers = append(servers, server)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return servers, nil
}

// The keys beside the servers that hosts keep in the same file.
var ignoredTopLevel = []string{"$schema", "globalShortcut", "inputs", "preferences"}

// listedServers returns the members of the file's one object of servers.
func listedServers(text []byte) ([]field, error) {
	top, isObject := fieldsOf(text)
	if !isObject {
		return nil, errors.New(`is no JSON object; it must have "mcpServers" (or, as VS Code has it, "servers")`)
	}
	var found []field
	var unknown []string
	for _, m := range top {
		switch {
		case m.key == "mcpServers", m.key == "servers":
			found = append(found, m)
		case !slices.Contains(ignoredTopLevel, m.key):
			unknown = append(unknown, m.key)
		}
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf(`has no "mcpServers" (or, as VS Code has it, "servers"); it has %s`, quoted(keysOf(top)))
	case len(found) > 1:
		return nil, fmt.Errorf("has servers in more than one place (%s); keep one", quoted(keysOf(found)))
	case len(unknown) > 0:
		return nil, fmt.Errorf(`has the unknown keys %s beside %q; take them out, or move them into a server`, quoted(unknown), found[0].key)
	}
	servers, isObject := fieldsOf(found[0].value)
	if !isObject {
		return nil, fmt.Errorf("has a %q that is no JSON object", found[0].key)
	}
	if twice := repeated(servers); len(twice) > 0 {
		return nil, fmt.Errorf("names the servers %s more than once; give each a name of its own", quoted(twice))
	}
	return servers, nil
}

// loadServer returns one server, whether it is enabled, or all that is wrong with it.
func loadServer(m field) (server Server, enabled bool, errs []error) {
	c, errs := readEntry(m.value)
	if c == nil || c.disabled {
		return Server{}, false, errs
	}
	if err := queue.ValidateServer(m.key); err != nil {
		errs = append(errs, fmt.Errorf("%w; rename it in the file", err))
	}
	if len(errs) > 0 {
		return Server{}, true, errs
	}
	connect, err := c.connector()
	if err != nil {
		return Server{}, true, []error{err}
	}
	return Server{Name: m.key, Connect: connect}, true, nil
}

// stringOf returns a JSON string, or reports that the value is none.
func stringOf(value json.RawMessage) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(value, &text) == nil
}
