package stateless

import (
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A request's own timeout comes before its activity's, however near that is: the
// server is told, the activity fails and does not time out, the call is not made
// again, and the connection is used on.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]stateless.Options{
		"CallTimeout":                    {CallTimeout: 2 * time.Second},
		"of the tool":                    {ToolTimeouts: map[string]time.Duration{fixture.Block: 2 * time.Second}},
		"StartToCloseTimeout no longer":  {CallTimeout: 12 * time.Second, Operation: workflow.ActivityOptions{StartToCloseTimeout: 12 * time.Second}},
		"ScheduleToCloseTimeout shorter": {Operation: workflow.ActivityOptions{ScheduleToCloseTimeout: 12 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.taskQueue))}})
			blocked := fixture.BlockArguments{Canceled: b.file("canceled")}
			options.Repeatable = map[string]bool{fixture.Block: true}
			run := begin(b, options, func(ctx workflow.Context, c *stateless.Client) (seen, error) {
				return call(ctx, c, fixture.Block, blocked), nil
			})
			s := run.result()
			reason := failure.ReasonCallTimeout
			if options.CallTimeout != 2*time.Second && options.ToolTimeouts == nil {
				reason = failure.ReasonActivityTimeout
			}
			b.want(s, failure.TypeCall, reason, failure.RanUnknown)
			b.awaitLines(blocked.Canceled, 1)
			if a := b.activities(run); len(a) != 1 || a[0].Attempt != 1 || a[0].End != enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED {
				t.Errorf("the activities are %+v; want one that failed at its first attempt", a)
			}
			if s := do(b, stateless.Options{}, once(fixture.Get, nil)); s.Text != "0" || b.connects() != 1 {
				t.Errorf("the call after it saw %+v, in %d connections", s, b.connects())
			}
		})
	}
}

// A workflow's cancel of a call reaches the server, and ends nothing else. (C16)
func TestCancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.taskQueue))}})
	blocked := fixture.BlockArguments{Began: b.file("began"), Canceled: b.file("canceled")}
	run := begin(b, stateless.Options{CallTimeout: testTimeout, Operation: workflow.ActivityOptions{WaitForCancellation: true}},
		func(ctx workflow.Context, c *stateless.Client) ([]seen, error) {
			scope, cancel := workflow.WithCancel(ctx)
			pending := c.CallToolAsync(scope, fixture.Block, blocked)
			workflow.GetSignalChannel(ctx, "cancel").Receive(ctx, nil)
			cancel()
			err := pending.Get(ctx, nil)
			return []seen{sawFailure(err), call(ctx, c, fixture.Get, nil)}, nil
		})
	b.awaitLines(blocked.Began, 1)
	if err := b.client.SignalWorkflow(b.ctx, run.GetID(), run.GetRunID(), "cancel", nil); err != nil {
		t.Fatal(err)
	}
	b.awaitLines(blocked.Canceled, 1)
	all := run.result()
	if !all[0].Canceled || all[1].Text != "0" || b.connects() != 1 {
		t.Errorf("the calls saw %+v, in %d connections", all, b.connects())
	}
	if a := b.activities(run); a[0].End != enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED {
		t.Errorf("the activities are %+v; want the first cancelled", a)
	}
}

// A workflow that is terminated leaves no request behind.
func TestTerminate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.taskQueue))}})
	blocked := fixture.BlockArguments{Began: b.file("began"), Canceled: b.file("canceled")}
	run := begin(b, stateless.Options{CallTimeout: testTimeout}, once(fixture.Block, blocked))
	b.awaitLines(blocked.Began, 1)
	if err := b.client.TerminateWorkflow(b.ctx, run.GetID(), run.GetRunID(), "a test"); err != nil {
		t.Fatal(err)
	}
	b.awaitLines(blocked.Canceled, 1)
}

// A worker that stops ends its calls and reports them, whatever its
// WorkerStopTimeout is; one that may be repeated goes on elsewhere, and one that ends
// within the DrainTimeout has its result. No process is left when Stop returns.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		drain      time.Duration
		repeatable bool
	}{"at once": {}, "repeatable": {repeatable: true}, "drained": {drain: testTimeout}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			workflows := worker.New(b.client, b.taskQueue, worker.Options{DeadlockDetectionTimeout: testTimeout, LocalActivityWorkerOnly: true})
			b.startWorker(workflows)
			host := b.host(session.Options{DrainTimeout: test.drain, Servers: []session.Server{b.counted(overStdio(b.taskQueue))}})
			blocked := fixture.BlockArguments{Began: b.file("began"), Until: b.file("until")}
			run := begin(b, stateless.Options{TaskQueue: b.hosts(), Repeatable: map[string]bool{fixture.Block: test.repeatable}}, once(fixture.Block, blocked))
			b.awaitLines(blocked.Began, 1)
			stopped := make(chan struct{})
			go func() {
				host.Stop()
				close(stopped)
			}()
			switch {
			case test.drain > 0:
				if err := fixture.AppendLine(blocked.Until, "now"); err != nil {
					t.Fatal(err)
				}
				if s := run.result(); s.Text != "done" {
					t.Errorf("the call saw %+v", s)
				}
				<-stopped
			case test.repeatable:
				<-stopped
				if left := b.processes(); len(left) > 0 {
					t.Errorf("processes are left: %v", left)
				}
				b.host(session.Options{Servers: []session.Server{b.counted(overStdio(b.taskQueue))}})
				b.awaitLines(blocked.Began, 2)
				if err := fixture.AppendLine(blocked.Until, "now"); err != nil {
					t.Fatal(err)
				}
				if s := run.result(); s.Text != "done" {
					t.Errorf("the call saw %+v", s)
				}
				return
			default:
				<-stopped
				b.want(run.result(), failure.TypeCall, failure.ReasonWorkerStopped, failure.RanUnknown)
			}
			if left := b.processes(); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

// A process that exits as soon as its worker's Stop has returned has told what became
// of its calls, though its WorkerStopTimeout is zero.
func TestProcessExits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Options{})
	host := b.startHostOf(hostConfig{InMemory: true}) // whose end takes no time in which the word could go out
	blocked := fixture.BlockArguments{Began: b.file("began")}
	run := begin(b, stateless.Options{TaskQueue: b.hosts()}, once(fixture.Block, blocked))
	b.awaitLines(blocked.Began, 1)
	host.stop()
	b.want(run.result(), failure.TypeCall, failure.ReasonWorkerStopped, failure.RanUnknown)
}

// host starts a worker that serves calls and runs no workflows.
func (b *bundle) host(options session.Options) worker.Worker {
	b.Helper()
	plugin, err := session.NewPlugin(options)
	if err != nil {
		b.Fatal(err)
	}
	w := worker.New(b.client, b.hosts(), worker.Options{Plugins: []worker.Plugin{plugin}, DisableWorkflowWorker: true})
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	return w
}

// Without the plugin, by session.Register, calls work too, and the connections are
// closed when the worker stops.
func TestRegister(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := worker.New(b.client, b.taskQueue, worker.Options{DeadlockDetectionTimeout: testTimeout})
	if err := session.Register(w, b.counted(overStdio(b.taskQueue))); err != nil {
		t.Fatal(err)
	}
	b.startWorker(w)
	for range 2 {
		if s := do(b, stateless.Options{}, once(fixture.Get, nil)); s.Text != "0" {
			t.Errorf("the call saw %+v", s)
		}
	}
	if b.connects() != 1 || len(b.processes()) != 1 {
		t.Errorf("%d connections, %d processes", b.connects(), len(b.processes()))
	}
	w.Stop()
	b.eventually("the process is gone", func() bool { return len(b.processes()) == 0 })
}
