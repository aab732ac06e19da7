// Package stateless runs stateless calls against a real Temporal server, with real
// MCP servers in processes of their own, over HTTP and in memory, and with hosts that
// are killed.
package stateless

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

var (
	server       *launch.Server
	cacheSize    = flag.Int("workflow-cache", 1000, "size of the workflow cache; 0 replays every workflow task from the start")
	startTimeout = 20 * time.Minute // a first build of the embedded server is slow
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case roleMCP:
		serveStdio()
		return
	case roleHost:
		runHost()
		return
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
		fmt.Fprintln(os.Stderr, "stateless:", err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stateless:", err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "stateless: goroutines are left:", err)
			code = 1
		}
	}
	return code
}
