// Package scripts runs scripts, in blocks and on sessions of their own, and single
// calls against a real Temporal server, with real MCP servers in processes of their
// own, over HTTP and in memory, and with hosts that are killed.
package scripts

import (
	"fmt"
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
	if err := registerScripts(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fixture.Play(map[string]func(){roleMCP: fixture.ServeStdio, roleHost: fixture.Host(newHost)})
	os.Exit(fixture.RunTests(m, &server))
}
