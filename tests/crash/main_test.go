// Package crash holds the table of crash points: a host of sessions kills itself at
// each named point of a session activity, against a real Temporal server and real
// MCP servers. See TestCrashPoints.
package crash

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"
	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/devserver/launch"
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

var (
	server       *launch.Server
	cacheSize    = flag.Int("workflow-cache", 1000, "size of the workflow cache; 0 replays every workflow task from the start")
	startTimeout = 20 * time.Minute // a first build of the embedded server is slow
)

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
		os.Exit(run(m))
	}
}

func run(m *testing.M) int {
	worker.SetStickyWorkflowCacheSize(*cacheSize)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	if server, err = launch.Connect(ctx, launch.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "crash: goroutines are left:", err)
			code = 1
		}
	}
	return code
}
