package interop

import (
	"os/exec"
	"strings"
	"sync"
)

// example returns an example server of the Go SDK's authors. The module names it
// as a tool, so its version is the SDK's, and the go command builds and keeps it.
func example(name string) func(*place) program {
	build := sync.OnceValues(func() ([]byte, error) {
		return exec.Command("go", "tool", "-n", "github.com/modelcontextprotocol/go-sdk/examples/server/"+name).Output()
	})
	return func(p *place) program {
		p.Helper()
		out, err := build()
		if err != nil {
			p.Fatalf("build the example %s: %v", name, err)
		}
		run := program{name: strings.TrimSpace(string(out)), path: "/", mark: name}
		if p.over == streamable {
			run.args = []string{"-http", "127.0.0.1:" + p.port}
		}
		return run
	}
}
