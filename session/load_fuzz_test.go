package session_test

import (
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/session"
)

// Whatever stands in a file, Load returns, and neither an error nor a name that it
// gives has what a variable holds.
func FuzzLoad(f *testing.F) {
	f.Setenv("SECRET", planted)
	for _, seed := range []string{
		`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "${SECRET}"], "env": {"K": "${SECRET}"}, "cwd": "${SECRET}"}}}`,
		`{"servers": {"a": {"type": "sse", "url": "https://${SECRET}@host", "headers": {"X": "${SECRET}\n"}}}, "inputs": []}`,
		`{"mcpServers": {"a": {"url": "${SECRET}://x", "type": "${SECRET}"}}}`,
		`{"mcpServers": {"a": {"command": "$${SECRET}${env:SECRET}${SECRET:-x}${x:-${SECRET}}${userHome}${input:x}${"}}}`,
		`{"mcpServers": {"a": {"disabled": true, "timeout": 1, "x": null}, "a": [], "b c": {}}}`,
		"\uFEFF{", "{\"a\":\xff", "// x", `[1,]`, `{"mcpServers": {"": {"args": [null], "env": {"": 1e400, "=": null}}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		servers, err := session.Load(strings.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), planted) && !strings.Contains(text, planted) {
				t.Fatalf("the error tells a secret: %v", err)
			}
			if servers != nil {
				t.Fatal("an error and servers")
			}
			return
		}
		if len(servers) == 0 {
			return
		}
		// What was loaded is good for a worker.
		if _, err := session.NewPlugin(session.Options{Servers: servers}); err != nil {
			t.Fatal(err)
		}
	})
}
