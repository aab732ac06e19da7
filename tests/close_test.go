package tests

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// Calls that are pending at Close are cancelled on the server and fail with
// SessionClosed, as not known to have run. (DESIGN 5)
func TestCallsPendingAtCloseFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	arguments := fixture.BlockArguments{Began: filepath.Join(dir, "began"), Canceled: filepath.Join(dir, "canceled")}
	type seen struct {
		Close   fault
		Pending []fault
	}
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		ts, err := toolset.Open(ctx, toolset.Options{Server: "counter"})
		if err != nil {
			return got, err
		}
		calls := []workflow.Future{
			ts.CallToolAsync(ctx, fixture.Block, arguments),
			ts.CallToolAsync(ctx, fixture.Block, arguments),
		}
		// A coroutine that waits in a plain call is freed, too.
		third, settle := workflow.NewFuture(ctx)
		workflow.Go(ctx, func(ctx workflow.Context) {
			_, err := ts.CallTool(ctx, fixture.Block, arguments)
			settle.Set(nil, err)
		})
		if err := await(ctx, "all began"); err != nil {
			return got, err
		}
		got.Close = faultOf(ts.Close(ctx))
		for _, pending := range append(calls, third) {
			got.Pending = append(got.Pending, faultOf(pending.Get(ctx, nil)))
		}
		return got, nil
	}, stdio("counter"))
	condition(w, "all began", func() bool { return len(notes(arguments.Began)) == 3 })
	var got seen
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Close.Text != "" {
		t.Errorf("Close failed: %+v", got.Close)
	}
	for i, f := range got.Pending {
		if f.Type != failure.TypeSessionClosed || f.Ran != failure.RanUnknown || f.Details.Reason != failure.ReasonClosed ||
			f.Details.Tool != fixture.Block || f.Details.Server != "counter" {
			t.Errorf("pending call %d ended with %+v", i, f)
		}
	}
	if n := len(notes(arguments.Canceled)); n != 3 {
		t.Errorf("the server was told of %d cancels, want 3", n)
	}
}

// A block that is closed refuses everything with SessionClosed, as certainly not
// run, and schedules nothing. Close may be called again.
func TestUseAfterClose(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []fault, err error) {
		ts, err := toolset.Open(ctx, toolset.Options{Server: "counter"})
		if err != nil {
			return nil, err
		}
		if _, err := ts.CallTool(ctx, fixture.Incr, nil); err != nil {
			return nil, err
		}
		if err := errors.Join(ts.Close(ctx), ts.Close(ctx)); err != nil {
			return nil, err
		}
		_, calling := ts.CallTool(ctx, fixture.Incr, nil)
		_, listing := ts.ListTools(ctx)
		for _, err := range []error{calling, listing, ts.CallToolAsync(ctx, fixture.Incr, nil).Get(ctx, nil)} {
			got = append(got, faultOf(err))
		}
		return got, ts.Close(ctx)
	}, stdio("counter"))
	run := b.start()
	var got []fault
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	for i, f := range got {
		if f.Type != failure.TypeSessionClosed || f.Ran != failure.RanNo || f.Details.Reason != failure.ReasonClosed {
			t.Errorf("use %d ended with %+v", i, f)
		}
		mentions(t, f.Text, `"counter"`, "closed")
	}
	var types []string
	for _, a := range b.activities(run, "") {
		types = append(types, a.GetActivityType().GetName())
	}
	if len(types) != 4 {
		t.Errorf("the history has the activities %q, want four", types)
	}
}

// Close works on a context that is cancelled, as one does after a workflow's
// cancel, and so does a call on a disconnected one before it.
func TestCloseOnACancelledContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type seen struct {
		Count, Pid string
		Cancelled  fault
	}
	b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		blockCtx, cancel := workflow.WithCancel(ctx)
		err = toolset.With(blockCtx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			var err error
			if got.Pid, err = call(ctx, ts, fixture.Pid, nil); err != nil {
				return err
			}
			cancel()
			_, err = ts.CallTool(ctx, fixture.Incr, nil)
			got.Cancelled = faultOf(err)
			cleanup, done := workflow.NewDisconnectedContext(ctx)
			defer done()
			got.Count, err = call(cleanup, ts, fixture.Incr, nil)
			return err
		})
		return got, err
	}, stdio("counter"))
	run := b.start()
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if !got.Cancelled.Canceled || got.Count != "1" {
		t.Errorf("the cancelled call ended with %+v, the counter is %q", got.Cancelled, got.Count)
	}
	if !exited(t, got.Pid) {
		t.Error("the server's process is left")
	}
}

// A workflow that is cancelled while its block closes closes it all the same.
func TestCancelWhileClosing(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	end := newLatch()
	b.Cleanup(end.open)
	inner := ownedFixture(b.taskQueue)
	open := newLatch()
	open.open()
	b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(
		func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
			t, err := inner(ctx, arg)
			if err != nil {
				return nil, err
			}
			return gated{t.(transport.Watched), open, end}, nil
		})}})
	type seen struct {
		Closed    fault
		Cancelled bool
		Left      int
	}
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		got.Closed = faultOf(toolset.With(ctx, b.options(longHeartbeat), func(ctx workflow.Context, ts *toolset.Toolset) error {
			_, err := call(ctx, ts, fixture.Incr, nil)
			return err
		}))
		got.Cancelled = ctx.Err() != nil
		ctx, _ = workflow.NewDisconnectedContext(ctx)
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: testTimeout})
		return got, workflow.ExecuteActivity(ctx, "left").Get(ctx, &got.Left)
	})
	activityNamed(w, "left", func() (int, error) { return len(b.processes()), nil })
	run := b.begin(client.StartWorkflowOptions{})
	d := &driver{bundle: b, run: run}
	b.eventually("the block is closing", func() bool {
		pending := d.pendingActivity(queue.OperationActivity("counter", queue.OperationCloseSession))
		return pending != nil && isStarted(pending)
	})
	cancelRun(b, d)
	b.awaitEvent(run, "the cancel", func(e *historypb.HistoryEvent) bool {
		return e.GetWorkflowExecutionCancelRequestedEventAttributes() != nil
	})
	end.open()
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Closed.Text != "" || !got.Cancelled || got.Left != 0 {
		t.Errorf("the block was closed with %+v; the workflow was cancelled: %v; %d processes were left", got.Closed, got.Cancelled, got.Left)
	}
}

// With returns the body's own error as it is, and closes the block. When closing
// fails as well, the body's error still decides, and the other is told with it.
func TestWithReturnsTheBodysError(t *testing.T) {
	t.Parallel()
	type seen struct {
		Fault, Close fault
		Same, IsBody bool
		Pid          string
	}
	for name, test := range map[string]struct{ loses bool }{"closes": {false}, "close fails": {true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
				own := temporal.NewNonRetryableApplicationError("the body's own", "OwnError", nil)
				err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
					var err error
					if got.Pid, err = call(ctx, ts, fixture.Pid, nil); err != nil {
						return err
					}
					if test.loses {
						_, _ = ts.CallTool(ctx, fixture.Exit, fixture.ExitArguments{Status: 3})
					}
					return own
				})
				got.Fault, got.Close = faultOf(err), faultOf(toolset.CloseError(err))
				got.Same, got.IsBody = err == own, errors.Is(err, own)
				return got, nil
			}, stdio("counter"))
			var got seen
			if err := b.start().Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if got.Fault.Type != "OwnError" || !got.Fault.Final || !got.IsBody || got.Same == test.loses {
				t.Errorf("With returned %+v; the body's: %v, in its chain: %v", got.Fault, got.Same, got.IsBody)
			}
			mentions(t, got.Fault.Text, "the body's own")
			if lost := got.Close.Type == failure.TypeDedicatedWorker; lost != test.loses {
				t.Errorf("CloseError returned %+v", got.Close)
			}
			if test.loses {
				mentions(t, got.Fault.Text, "closing the block failed", string(failure.ReasonServerGone))
			}
			if !exited(t, got.Pid) {
				t.Error("the server's process is left")
			}
		})
	}
}
