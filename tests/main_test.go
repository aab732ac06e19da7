// Package tests runs mcpsession against a real Temporal server, with real MCP
// servers in processes of their own and, where a host must die, real hosts.
package tests

import (
	"os"
	"testing"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// roleVariable makes this binary something else than a test: the processes that
// the tests start are itself.
const roleVariable = "MCPSESSION_TEST_ROLE"

var server *launch.Server

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "mcp":
		fixture.ServeStdio()
		return
	case "host":
		runHost()
		return
	default:
		if role, ok := brokenRoles[os.Getenv(roleVariable)]; ok {
			role()
			return
		}
	}
	os.Exit(fixture.RunTests(m, &server))
}
