// Package soak runs random workflows for a while, kills hosts of sessions and MCP
// servers at random meanwhile, and checks every answer against what its block
// wrote. See TestSoak.
package soak

import (
	"fmt"
	"os"
	"testing"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// roleVariable makes this binary something else than a test: the processes that
// the test starts are itself.
const roleVariable = "MCPSESSION_SOAK_ROLE"

// The roles.
const (
	roleHost  = "host"
	roleStdio = "stdio"
	roleHTTP  = "http"
)

// ownerVariable is in the environment of every process that the test has started,
// directly or not.
const ownerVariable = "MCPSESSION_SOAK_OWNER"

var server *launch.Server

func TestMain(m *testing.M) {
	transport.Lifeline()
	var err error
	switch os.Getenv(roleVariable) {
	case roleHost:
		err = runHost()
	case roleStdio:
		err = serveStdio()
	case roleHTTP:
		err = serveHTTP()
	default:
		os.Exit(fixture.RunTests(m, &server))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}
