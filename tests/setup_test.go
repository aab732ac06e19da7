package tests

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// testTimeout bounds every test: a hang is a failure, told by name.
const testTimeout = 90 * time.Second

// A bundle is what one test has to itself: a client, a task queue, workers.
type bundle struct {
	*testing.T
	ctx       context.Context
	client    client.Client
	taskQueue string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return &bundle{T: t, ctx: ctx, client: fixture.Dial(t, ctx, server, tellIfVerbose), taskQueue: strings.ReplaceAll(t.Name(), "/", "-")}
}

// worker starts a worker on the bundle's task queue that runs workflow as "test"
// and holds sessions of servers.
func (b *bundle) worker(options worker.Options, workflow any, servers ...session.Server) worker.Worker {
	b.Helper()
	if len(servers) > 0 {
		plugin, err := session.NewPlugin(session.Options{Servers: servers})
		if err != nil {
			b.Fatal(err)
		}
		options.Plugins = append(options.Plugins, plugin)
	}
	if options.DeadlockDetectionTimeout == 0 {
		// On a busy machine the SDK takes a workflow that encodes megabytes for one
		// that hangs, and leaves its goroutine behind.
		options.DeadlockDetectionTimeout = testTimeout
	}
	w := worker.New(b.client, b.taskQueue, options)
	if workflow != nil {
		w.RegisterWorkflowWithOptions(workflow, workflowOptions("test"))
	}
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	return w
}

func workflowOptions(name string) workflow.RegisterOptions {
	return workflow.RegisterOptions{Name: name}
}

// start starts the workflow "test".
func (b *bundle) start(args ...any) client.WorkflowRun {
	b.Helper()
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{TaskQueue: b.taskQueue, ID: b.taskQueue}, "test", args...)
	if err != nil {
		b.Fatal(err)
	}
	return run
}

// stdio is the fixture in a process of its own.
func stdio(name string) session.Server {
	return session.Server{
		Name: name,
		Connect: transport.CommandWithOptions(transport.CommandOptions{
			Env: fixture.Environ("mcp", ""),
		}, os.Args[0]),
	}
}

// call calls a tool and returns its first text.
func call(ctx workflow.Context, ts *toolset.Toolset, tool string, arguments any) (string, error) {
	result, err := ts.CallTool(ctx, tool, arguments)
	return fixture.Text(result), err
}

// tellIfVerbose lets a client log as the SDK does if the tests are verbose.
func tellIfVerbose(options *client.Options) {
	if testing.Verbose() {
		options.Logger = nil
	}
}
