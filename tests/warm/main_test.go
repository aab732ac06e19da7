// Package warm runs blocks on sessions that were started before: against a real
// Temporal server, with MCP servers in processes of their own, which are killed,
// stopped and slow, and with hosts that are killed.
package warm

import (
	"os"
	"testing"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// The roles of the processes that the tests start, which are this binary.
const (
	roleMCP      = "mcp"
	roleHost     = "host"
	roleLifeline = "host with a lifeline"
)

var server *launch.Server

func TestMain(m *testing.M) {
	host := fixture.Host(newHost)
	fixture.Play(map[string]func(){
		roleMCP: serveStdio, roleHost: host,
		roleLifeline: func() { transport.Lifeline(); host() },
	})
	os.Exit(fixture.RunTests(m, &server))
}
