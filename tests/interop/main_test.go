// Package interop proves that mcpsession works with MCP servers that its authors
// did not write: the examples of the Go SDK, the reference servers on the
// TypeScript and the Python SDK, over each transport that they speak, in processes
// of their own. [rows] is the table of them.
//
// The servers that are no Go programs are installed once, from pinned versions,
// into the user's cache directory. Without node or python3 their rows are skipped.
package interop

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

// roleVariable makes this binary something else than a test.
const roleVariable = "MCPSESSION_INTEROP_ROLE"

var (
	server       *launch.Server
	cacheSize    = flag.Int("workflow-cache", 1000, "size of the workflow cache; 0 replays every workflow task from the start")
	startTimeout = 20 * time.Minute // a first build of the embedded server is slow
)

func TestMain(m *testing.M) {
	transport.Lifeline() // as the README has it: real servers must do with it
	if os.Getenv(roleVariable) == "keeper" {
		keep()
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
		fmt.Fprintln(os.Stderr, "interop:", err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "interop: goroutines are left:", err)
			code = 1
		}
	}
	return code
}
