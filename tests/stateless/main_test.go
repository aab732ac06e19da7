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

// roleVariable makes this binary something else than a test: the processes that the
// tests start are itself.
const roleVariable = "MCPSESSION_STATELESS_ROLE"

// The roles.
const (
	roleMCP  = "mcp"
	roleHost = "host"
)

// ownerVariable is in the environment of every process that a test has started,
// directly or not.
const ownerVariable = "MCPSESSION_STATELESS_OWNER"

var server *launch.Server

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case roleMCP:
		serveStdio()
		return
	case roleHost:
		runHost()
		return
	}
	os.Exit(fixture.RunTests(m, &server))
}
