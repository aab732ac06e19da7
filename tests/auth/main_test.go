// Package auth runs sessions and stateless calls against a real Temporal server, MCP
// servers that ask for credentials, and an authorization server in this process that
// checks what it is given. It also plants secrets, and looks for them wherever the
// library and the SDK write.
package auth

import (
	"os"
	"testing"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// roleVariable makes this binary something else than a test: the processes that the
// tests start are itself.
const roleVariable = "MCPSESSION_AUTH_ROLE"

// The roles.
const (
	roleMCP  = "mcp"
	roleHost = "host"
)

// ownerVariable is in the environment of every process that a test has started.
const ownerVariable = "MCPSESSION_AUTH_OWNER"

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
