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

// roleVariable makes this binary something else than a test: the processes that the
// tests start are itself.
const roleVariable = "MCPSESSION_SCRIPTS_ROLE"

// The roles.
const (
	roleMCP  = "mcp"
	roleHost = "host"
)

// ownerVariable is in the environment of every process that a test has started,
// directly or not.
const ownerVariable = "MCPSESSION_SCRIPTS_OWNER"

var server *launch.Server

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == roleMCP {
		fixture.ServeStdio()
		return
	}
	if err := registerScripts(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(roleVariable) == roleHost {
		runHost()
		return
	}
	os.Exit(fixture.RunTests(m, &server))
}
