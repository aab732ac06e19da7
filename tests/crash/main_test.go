// Package crash holds the table of crash points: a host of sessions kills itself at
// each named point of a session activity, against a real Temporal server and real
// MCP servers. See TestCrashPoints.
package crash

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// roleVariable makes this binary something else than a test: the processes that
// the test starts are itself.
const roleVariable = "MCPSESSION_CRASH_ROLE"

// The roles.
const (
	roleHost     = "host"
	roleBareHost = "host without Lifeline"
	roleStdio    = "MCP server over stdio"
	roleHTTP     = "MCP server over HTTP"
)

// ownerVariable is in the environment of every process that a row has started,
// directly or not.
const ownerVariable = "MCPSESSION_CRASH_OWNER"

// parallelRows is how many rows run at once, unless the flag parallel says
// otherwise: they wait for a lost host's heartbeat timeout most of the time.
const parallelRows = 14

var server *launch.Server

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role != roleBareHost {
		transport.Lifeline()
	}
	switch role {
	case roleHost, roleBareHost:
		runHost()
	case roleStdio:
		serveStdio()
	case roleHTTP:
		serveHTTP()
	default:
		flag.Parse()
		if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
			_ = flag.Set("test.parallel", fmt.Sprint(parallelRows))
		}
		os.Exit(fixture.RunTests(m, &server))
	}
}
