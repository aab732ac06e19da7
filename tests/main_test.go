// Package tests runs mcpsession against a real Temporal server, with real MCP
// servers in processes of their own and, where a host must die, real hosts.
package tests

import (
	"maps"
	"os"
	"testing"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

var server *launch.Server

func TestMain(m *testing.M) {
	roles := maps.Clone(brokenRoles)
	roles["mcp"], roles["host"] = fixture.ServeStdio, fixture.Host(newHost)
	fixture.Play(roles)
	os.Exit(fixture.RunTests(m, &server))
}
