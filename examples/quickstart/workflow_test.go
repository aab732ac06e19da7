package quickstart_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/examples/internal/testserver"
	"github.com/mcpsession/mcpsession/examples/quickstart"
	"github.com/mcpsession/mcpsession/examples/quickstart/scratchdb"
	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// testTimeout bounds every wait of a test.
const testTimeout = time.Minute

func TestTopRegion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startHost("host")
	var answer quickstart.Answer
	if err := b.start(quickstart.TopRegion).Get(b.ctx, &answer); err != nil {
		t.Fatal(err)
	}
	if answer != quickstart.SalesAnswer {
		t.Errorf("answer %+v, want %+v", answer, quickstart.SalesAnswer)
	}
}

// What a tool says of a failure comes to be the workflow's.
func TestTopRegionOfNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startHost("host")
	err := b.startWith(quickstart.TopRegion, []quickstart.Sale{}).Get(b.ctx, nil)
	if err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Errorf("error %v, want one that says that there are no rows", err)
	}
}

// A host that is stopped tells so, and the workflow begins again on another.
func TestInterruptedByAStoppedHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hostA := b.startHost("host A")
	run := b.start(quickstart.Interrupted)
	if host := b.awaitLoaded(run); host != "host A" {
		t.Fatalf("the session is on %q, want host A", host)
	}
	hostA.Stop()
	b.startHost("host B")
	b.resume(run)

	var report quickstart.Report
	if err := run.Get(b.ctx, &report); err != nil {
		t.Fatal(err)
	}
	loss := report.Loss
	if loss.Reason != failure.ReasonWorkerStopped || loss.Host != "host A" {
		t.Errorf("loss %+v, want that of host A, which was stopped", loss)
	}
	if loss.Tool != "query" || loss.ToolRan != failure.RanNo {
		t.Errorf("loss %+v, want query not to have run", loss)
	}
	if report.FreshHost != "host B" {
		t.Errorf("the second session is on %q, want host B", report.FreshHost)
	}
	if want := "no such table: sales"; !strings.Contains(report.FreshError, want) {
		t.Errorf("the second session says %q at first, want %q", report.FreshError, want)
	}
	if report.Answer != quickstart.SalesAnswer {
		t.Errorf("answer %+v, want %+v", report.Answer, quickstart.SalesAnswer)
	}
}

func TestInterruptedByNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.startHost("host")
	run := b.start(quickstart.Interrupted)
	b.awaitLoaded(run)
	b.resume(run)
	var report quickstart.Report
	if err := run.Get(b.ctx, &report); err != nil {
		t.Fatal(err)
	}
	if want := (quickstart.Report{Answer: quickstart.SalesAnswer}); report != want {
		t.Errorf("report %+v, want %+v", report, want)
	}
}

// A bundle is what a test has to itself: a task queue, and a worker that runs the
// workflows of it.
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
	c := server.Dial(ctx, t)
	b := &bundle{T: t, ctx: ctx, client: c, taskQueue: testserver.TaskQueue(t)}
	b.startWorker(worker.Options{LocalActivityWorkerOnly: true})
	return b
}

// startHost starts a worker that holds sessions.
func (b *bundle) startHost(identity string) worker.Worker {
	b.Helper()
	sessions, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name:    quickstart.Server,
		Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return scratchdb.New() }),
	}}})
	if err != nil {
		b.Fatal(err)
	}
	return b.startWorker(worker.Options{
		Identity:              identity,
		DisableWorkflowWorker: true,
		Plugins:               []worker.Plugin{sessions},
	})
}

func (b *bundle) startWorker(options worker.Options) worker.Worker {
	b.Helper()
	w := worker.New(b.client, b.taskQueue, options)
	if !options.DisableWorkflowWorker {
		w.RegisterWorkflow(quickstart.TopRegion)
		w.RegisterWorkflow(quickstart.Interrupted)
	}
	return testserver.Start(b, w)
}

func (b *bundle) start(workflow any) client.WorkflowRun {
	b.Helper()
	return b.startWith(workflow, quickstart.Sales)
}

func (b *bundle) startWith(workflow any, sales []quickstart.Sale) client.WorkflowRun {
	b.Helper()
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{
		ID:                       b.taskQueue,
		TaskQueue:                b.taskQueue,
		WorkflowExecutionTimeout: testTimeout, // leaves nothing on a server that goes on
	}, workflow, sales)
	if err != nil {
		b.Fatal(err)
	}
	return run
}

// awaitLoaded returns the host of an Interrupted workflow's session.
func (b *bundle) awaitLoaded(run client.WorkflowRun) (host string) {
	b.Helper()
	update, err := b.client.UpdateWorkflow(b.ctx, client.UpdateWorkflowOptions{
		WorkflowID:   run.GetID(),
		RunID:        run.GetRunID(),
		UpdateName:   quickstart.LoadedUpdate,
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := update.Get(b.ctx, &host); err != nil {
		b.Fatal(err)
	}
	return host
}

func (b *bundle) resume(run client.WorkflowRun) {
	b.Helper()
	if err := b.client.SignalWorkflow(b.ctx, run.GetID(), run.GetRunID(), quickstart.ResumeSignal, nil); err != nil {
		b.Fatal(err)
	}
}
