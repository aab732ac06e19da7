package session

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcpsession/mcpsession/transport"
)

// The keys of a server that say what it is.
var entryKeys = []string{"args", "command", "cwd", "disabled", "env", "headers", "type", "url"}

// The keys that a host's user interface keeps there. None can change what the server
// does for a workflow.
var ignoredKeys = []string{"alwaysAllow", "alwaysLoad", "autoApprove", "description", "dev", "gallery", "icon", "title", "version"}

// What to do instead of a key that means something to a host and can't be had here.
var refusedKeys = map[string]string{
	"auth":           "is not supported; give a token by headers, or write the connector in Go",
	"disabledTools":  "is not enforced; choose tools in the workflow (toolset.Tools)",
	"envFile":        "is not read; set the variables for the worker and name them in env, as ${VAR}",
	"excludeTools":   "is not enforced; choose tools in the workflow (toolset.Tools)",
	"headersHelper":  "is not run; give a token by headers, or write the connector in Go (transport.WithHeaders)",
	"httpUrl":        `is unknown; name it "url"`,
	"includeTools":   "is not enforced; choose tools in the workflow (toolset.Tools)",
	"oauth":          "is not supported; give a token by headers, or write the connector in Go",
	"sandbox":        "is not enforced; run the worker itself in a sandbox",
	"sandboxEnabled": "is not enforced; run the worker itself in a sandbox",
	"serverUrl":      `is unknown; name it "url"`,
	"timeout":        "has another unit in every host; take it out and set toolset.Options.CallTimeout or session.Server.ConnectTimeout",
	"transport":      `is unknown; name it "type"`,
}

// A configured server is one entry of the file, its variables replaced.
type configured struct {
	kind     string // "stdio", "http", "sse"
	command  string
	args     []string
	env      []string // KEY=value
	cwd      string
	url      string
	header   http.Header
	disabled bool
	secrets  []string // what variables gave: it may come back in what the server says
}

// connector returns the connector of an entry without faults. A URL that can't be
// used is known at once; its own error would tell it.
func (c *configured) connector() (transport.Connector, error) {
	if c.kind == "stdio" {
		options := transport.CommandOptions{Env: c.env, Dir: c.cwd, Secrets: c.secrets}
		return transport.CommandWithOptions(options, c.command, c.args...), nil
	}
	options := []transport.Option{transport.WithSecrets(c.secrets...)}
	if len(c.header) > 0 {
		options = append(options, transport.WithHeaders(func(context.Context) (http.Header, error) { return c.header.Clone(), nil }))
	}
	if c.kind == "sse" {
		options = append(options, transport.WithSSE())
	}
	connect := transport.HTTP(c.url, options...)
	if _, err := connect(context.Background(), nil); err != nil {
		return nil, errors.New(`"url" can't be used; give it one such as https://host/mcp, with any user name or password in headers instead`)
	}
	return connect, nil
}
