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

// roleVariable makes this binary something else than a test: the processes that the
// tests start are itself.
const roleVariable = "MCPSESSION_WARM_ROLE"

// The roles.
const (
	roleMCP      = "mcp"
	roleHost     = "host"
	roleLifeline = "host with a lifeline"
)

// ownerVariable is in the environment of every process that a test has started,
// directly or not.
const ownerVariable = "MCPSESSION_WARM_OWNER"

var server *launch.Server

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case roleMCP:
		serveStdio()
		return
	case roleLifeline:
		transport.Lifeline()
		runHost()
		return
	case roleHost:
		runHost()
		return
	}
	os.Exit(fixture.RunTests(m, &server))
}
