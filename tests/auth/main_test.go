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

// The variables of the processes that the tests start, which are this binary.
const (
	roleVariable  = fixture.RoleVariable
	ownerVariable = fixture.OwnerVariable
)

// The roles.
const (
	roleMCP  = "mcp"
	roleHost = "host"
)

var server *launch.Server

func TestMain(m *testing.M) {
	fixture.Play(map[string]func(){roleMCP: serveStdio, roleHost: runHost})
	os.Exit(fixture.RunTests(m, &server))
}
