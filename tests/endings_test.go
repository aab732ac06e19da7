package tests

import (
	"errors"
	"fmt"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A run that ends without closing its block, in whatever way, ends the session:
// the host's next heartbeat says that nobody waits for it, and the MCP server's
// process goes away within about a heartbeat interval.
func TestRunEndsWithoutClosing(t *testing.T) {
	t.Parallel()
	say := func(how string) func(*bundle, *driver) { return func(_ *bundle, d *driver) { d.end(how) } }
	for name, tc := range map[string]struct {
		on     worker.Options
		run    client.StartWorkflowOptions
		end    func(*bundle, *driver)
		status enumspb.WorkflowExecutionStatus
	}{
		returns:        {end: say(returns), status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED},
		fails:          {end: say(fails), status: enumspb.WORKFLOW_EXECUTION_STATUS_FAILED},
		continuesAsNew: {end: say(continuesAsNew), status: enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW},
		panics: {
			on:  worker.Options{WorkflowPanicPolicy: worker.FailWorkflow},
			end: say(panics), status: enumspb.WORKFLOW_EXECUTION_STATUS_FAILED,
		},
		"panics until it is terminated": {
			end: func(b *bundle, d *driver) {
				d.end(panics)
				b.awaitEvent(d.run, "a failed workflow task", isWorkflowTaskFailed)
				terminateRun(b, d)
			},
			status: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED,
		},
		"times out": {
			// Long enough to come to its call first.
			run: client.StartWorkflowOptions{WorkflowRunTimeout: 20 * time.Second},
			end: func(*bundle, *driver) {}, status: enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
		},
		"is terminated": {end: terminateRun, status: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED},
		"is cancelled": {
			end: cancelRun, status: enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			b.host(worker.Options{}, session.Options{})
			b.worker(tc.on, driven(b.options(shortHeartbeat)))
			d := &driver{bundle: b, run: b.begin(tc.run)}
			block := d.open()
			pid := block.pid()
			// A call under way ends with its session.
			arguments := fixture.BlockArguments{Began: b.file("began"), Canceled: b.file("canceled")}
			block.beginCall(fixture.Block, arguments)
			b.awaitLines(arguments.Began, 1)

			ended := time.Now()
			tc.end(b, d)
			b.awaitGone(pid)
			b.toldAfter(ended, "the MCP server was gone")
			b.awaitLines(arguments.Canceled, 1)
			// A session ends shortly before a timeout of its run.
			b.eventually(fmt.Sprint("the run is ", tc.status), func() bool {
				description, err := b.client.DescribeWorkflow(b.ctx, d.run.GetID(), d.run.GetRunID())
				return err == nil && description.Status == tc.status
			})
			b.wantConnects("here")
		})
	}
}

func terminateRun(b *bundle, d *driver) {
	b.Helper()
	if err := b.client.TerminateWorkflow(b.ctx, d.run.GetID(), d.run.GetRunID(), "test"); err != nil {
		b.Fatal(err)
	}
}

func cancelRun(b *bundle, d *driver) {
	b.Helper()
	if err := b.client.CancelWorkflow(b.ctx, d.run.GetID(), d.run.GetRunID()); err != nil {
		b.Fatal(err)
	}
}

// A run ends while its block opens: the attempt that connects is ended by its next
// heartbeat and leaves nothing, and one that waits for its turn never comes.
func TestRunEndsWhileOpening(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*bundle, *driver){"is terminated": terminateRun, "is cancelled": cancelRun} {
		for _, inBackoff := range []bool{false, true} {
			if inBackoff {
				name += ", in backoff"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := setupFaults(t)
				reached := newLatch()
				connect := waitingFor(newLatch(), reached, ownedFixture(b.taskQueue))
				if inBackoff {
					connect = failing(errors.New("the licence server is busy"))
				}
				host := b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(connect)}})
				options := b.options(steadyHeartbeat)
				options.Session.RetryPolicy = &temporal.RetryPolicy{InitialInterval: 2 * time.Second, MaximumAttempts: 3}
				d := b.drive(options)
				opening := d.beginOpen()
				if inBackoff {
					d.awaitBackoff()
				} else {
					b.wait(reached, "the transport to connect")
				}
				end(b, d)
				if err := opening.err(); err == nil {
					t.Error("the block opened")
				}
				// It returns once no attempt is left, which nobody else ends.
				host.Stop()
				if left := b.processes(); len(left) > 0 {
					t.Errorf("processes are left: %v", left)
				}
				b.wantConnects("here")
			})
		}
	}
}

func isWorkflowTaskFailed(e *historypb.HistoryEvent) bool {
	return e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED
}

// A workflow that is cancelled inside its block has its pending call cancelled,
// on the server too. Its session lives on: cleanup under a disconnected context
// finds the state, and then the block closes as ever.
func TestWorkflowCancelledInItsBlock(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	arguments := fixture.BlockArguments{Began: b.file("began"), Canceled: b.file("canceled")}
	type seen struct {
		Pid, Counter           string
		Pending, Later, Closed fault
	}
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		err = toolset.With(ctx, b.options(longHeartbeat), func(ctx workflow.Context, ts *toolset.Toolset) error {
			if got.Pid, err = call(ctx, ts, fixture.Pid, nil); err != nil {
				return err
			}
			_, err := call(ctx, ts, fixture.Block, arguments)
			got.Pending = faultOf(err)
			_, err = call(ctx, ts, fixture.Incr, nil)
			got.Later = faultOf(err)
			if err := await(ctx, "the server was told"); err != nil {
				return err
			}
			cleanup, _ := workflow.NewDisconnectedContext(ctx)
			got.Counter, err = call(cleanup, ts, fixture.Incr, nil)
			return err
		})
		got.Closed = faultOf(err)
		return got, nil
	})
	condition(w, "the server was told", func() bool { return len(b.lines(arguments.Canceled)) > 0 })
	run := b.begin(client.StartWorkflowOptions{})
	b.awaitLines(arguments.Began, 1)
	if err := b.client.CancelWorkflow(b.ctx, run.GetID(), run.GetRunID()); err != nil {
		t.Fatal(err)
	}
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if !got.Pending.Canceled || !got.Later.Canceled {
		t.Errorf("the pending call: %+v; one under the cancelled context: %+v", got.Pending, got.Later)
	}
	if got.Counter != "1" || got.Closed.Text != "" {
		t.Errorf("cleanup got %q; With returned %+v", got.Counter, got.Closed)
	}
	if !exited(t, got.Pid) {
		t.Error("the MCP server's process is there after With has returned")
	}
	b.wantConnects("here")
}

// A workflow that panics in its block fails its task, not its run, by default. Once
// a worker with sound code has taken it over the block goes on, in the same session,
// and what was called before the panic is not called again.
func TestPanicThatIsMended(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	effects := b.file("effects")
	flow := func(broken bool) func(workflow.Context) (string, error) {
		return func(ctx workflow.Context) (got string, err error) {
			err = toolset.With(ctx, b.options(longHeartbeat), func(ctx workflow.Context, ts *toolset.Toolset) error {
				if _, err := call(ctx, ts, fixture.Incr, nil); err != nil {
					return err
				}
				if _, err := call(ctx, ts, fixture.Append, fixture.AppendArguments{File: effects, Line: "effect"}); err != nil {
					return err
				}
				if broken {
					panic("not mended yet")
				}
				got, err = call(ctx, ts, fixture.Incr, nil)
				return err
			})
			return got, err
		}
	}
	first := b.worker(worker.Options{}, flow(true))
	run := b.begin(client.StartWorkflowOptions{})
	b.awaitEvent(run, "a failed workflow task", isWorkflowTaskFailed)
	server := b.processes()
	if len(server) != 1 {
		t.Fatalf("after the panic there are the servers %v", server)
	}
	first.Stop()
	b.worker(worker.Options{}, flow(false))
	var got string
	if err := run.Get(b.ctx, &got); err != nil || got != "2" {
		t.Errorf("the counter is %q, %v; want 2", got, err)
	}
	if n := len(b.lines(effects)); n != 1 {
		t.Errorf("the effect was made %d times", n)
	}
	b.wantConnects("here")
}

// A loss that the workflow returns fails the run, retryably: its own retry policy
// may start a run that opens a new block. If there is none the client learns of
// the loss by the same functions.
func TestRunThatFailedByALossIsRetried(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	b.worker(worker.Options{}, func(ctx workflow.Context) (got string, err error) {
		err = toolset.With(ctx, b.options(longHeartbeat), func(ctx workflow.Context, ts *toolset.Toolset) error {
			if workflow.GetInfo(ctx).Attempt != 2 {
				if _, err := call(ctx, ts, fixture.Incr, nil); err != nil {
					return err
				}
				_, err := call(ctx, ts, fixture.Exit, fixture.ExitArguments{Status: 3})
				return err
			}
			got, err = call(ctx, ts, fixture.Get, nil)
			return err
		})
		return got, err
	})
	run := b.begin(client.StartWorkflowOptions{
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 2},
	})
	var got string
	if err := run.Get(b.ctx, &got); err != nil || got != "0" {
		t.Errorf("the run's retry returned %q, %v; want 0", got, err)
	}
	b.wantConnects("here", "here")

	err := b.begin(client.StartWorkflowOptions{}).Get(b.ctx, nil)
	b.wantLoss(err, failure.ReasonServerGone, failure.RanUnknown)
	if err := fmt.Errorf("wrapped: %w", err); !failure.IsDedicatedWorker(err) || !errors.As(err, new(*temporal.WorkflowExecutionError)) {
		t.Error(err)
	}
}

// An operator completes or fails the session activity: the session is lost, for
// want of a better reason, and its host ends it at its next heartbeat.
func TestOperatorEndsTheSessionActivity(t *testing.T) {
	t.Parallel()
	for reason, failWith := range map[failure.Reason]error{
		failure.ReasonCanceled: nil,
		failure.ReasonHostLost: errors.New("ended by hand"),
	} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			b.host(worker.Options{}, session.Options{})
			d := b.drive(b.options(shortHeartbeat))
			block := d.open()
			pid := block.pid()
			ended := time.Now()
			if err := b.client.CompleteActivityByID(b.ctx, server.Namespace, d.run.GetID(), d.run.GetRunID(),
				d.sessionActivity().GetActivityId(), nil, failWith); err != nil {
				t.Fatal(err)
			}
			b.awaitSessionEnd(d.run)
			b.wantLoss(block.callUnscheduled(), reason, failure.RanNo)
			b.awaitGone(pid)
			b.toldAfter(ended, "the MCP server was gone")
			b.wantConnects("here")
		})
	}
}

// A session without operations for its server's IdleTimeout ends, and so does one
// whose activity's own time is about to pass: each says why before the server
// could, and takes its process with it.
func TestSessionEndsByItself(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[failure.Reason]struct{ idle, startToClose time.Duration }{
		failure.ReasonIdle:    {idle: time.Second},
		failure.ReasonExpired: {startToClose: 10 * time.Second},
	} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			s := b.counted(ownedFixture(b.taskQueue))
			s.IdleTimeout = tc.idle
			b.host(worker.Options{}, session.Options{Servers: []session.Server{s}})
			options := b.options(longHeartbeat)
			options.Session.StartToCloseTimeout = tc.startToClose
			d := b.drive(options)
			block := d.open()
			b.awaitSessionEnd(d.run)
			// By its own word, and not by the server's timeout, which would come next.
			b.awaitEvent(d.run, "the session's report", func(event *historypb.HistoryEvent) bool {
				return event.GetActivityTaskFailedEventAttributes() != nil
			})
			b.wantLoss(block.callUnscheduled(), reason, failure.RanNo)
			b.wantLoss(block.close(), reason, "")
			if left := b.processes(); len(left) > 0 {
				t.Errorf("the MCP server's process is there: %v", left)
			}
			b.wantConnects("here")
		})
	}
}
