// Package stateless runs stateless calls against a real Temporal server, with real
// MCP servers in processes of their own, over HTTP and in memory, and with hosts that
// are killed.
package stateless

import (
	"os"
	"testing"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// The roles of the processes that the tests start, which are this binary.
const (
	roleMCP  = "mcp"
	roleHost = "host"
)

var server *launch.Server

func TestMain(m *testing.M) {
	fixture.Play(map[string]func(){roleMCP: serveStdio, roleHost: fixture.Host(newHost)})
	os.Exit(fixture.RunTests(m, &server))
}
