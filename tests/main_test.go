// Package tests runs mcpsession against a real Temporal server, with real MCP
// servers in processes of their own and, where a host must die, real hosts.
package tests

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
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// roleVariable makes this binary something else than a test: the processes that
// the tests start are itself.
const roleVariable = "MCPSESSION_TEST_ROLE"

var (
	server       *launch.Server
	cacheSize    = flag.Int("workflow-cache", 1000, "size of the workflow cache; 0 replays every workflow task from the start")
	startTimeout = 20 * time.Minute // a first build of the embedded server is slow
)

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
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	worker.SetStickyWorkflowCacheSize(*cacheSize)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	if server, err = launch.Connect(ctx, launch.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "tests: goroutines are left:", err)
			code = 1
		}
	}
	return code
}
