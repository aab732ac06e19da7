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

// The roles of the processes that the test starts, which are this binary.
const (
	roleHost     = "host"
	roleBareHost = "host without Lifeline"
	roleStdio    = "MCP server over stdio"
	roleHTTP     = "MCP server over HTTP"
)

// parallelRows is how many rows run at once, unless the flag parallel says
// otherwise: they wait for a lost host's heartbeat timeout most of the time.
const parallelRows = 14

var server *launch.Server

func TestMain(m *testing.M) {
	if fixture.Role() != roleBareHost {
		transport.Lifeline()
	}
	host := fixture.Host(newHost)
	fixture.Play(map[string]func(){roleHost: host, roleBareHost: host, roleStdio: serveStdio, roleHTTP: serveHTTP})
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", fmt.Sprint(parallelRows))
	}
	os.Exit(fixture.RunTests(m, &server))
}
