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
			b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.TaskQueue))}})
			blocked := fixture.BlockArguments{Canceled: b.File("canceled")}
			options.Repeatable = map[string]bool{fixture.Block: true}
			run := begin(b, options, func(ctx workflow.Context, c *stateless.Client) (seen, error) {
				return call(ctx, c, fixture.Block, blocked), nil
			})
			s := run.Result()
			reason := failure.ReasonCallTimeout
			if options.CallTimeout != 2*time.Second && options.ToolTimeouts == nil {
				reason = failure.ReasonActivityTimeout
			}
			b.want(s, failure.TypeCall, reason, failure.RanUnknown)
			b.AwaitLines(blocked.Canceled, 1)
			if a := b.Activities(run); len(a) != 1 || a[0].Attempt != 1 || a[0].End != enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED {
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
	b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.TaskQueue))}})
	blocked := fixture.BlockArguments{Began: b.File("began"), Canceled: b.File("canceled")}
	run := begin(b, stateless.Options{CallTimeout: testTimeout, Operation: workflow.ActivityOptions{WaitForCancellation: true}},
		func(ctx workflow.Context, c *stateless.Client) ([]seen, error) {
			scope, cancel := workflow.WithCancel(ctx)
			pending := c.CallToolAsync(scope, fixture.Block, blocked)
			workflow.GetSignalChannel(ctx, "cancel").Receive(ctx, nil)
			cancel()
			err := pending.Get(ctx, nil)
			return []seen{sawFailure(err), call(ctx, c, fixture.Get, nil)}, nil
		})
	b.AwaitLines(blocked.Began, 1)
	run.Signal("cancel")
	b.AwaitLines(blocked.Canceled, 1)
	all := run.Result()
	if !all[0].Canceled || all[1].Text != "0" || b.connects() != 1 {
		t.Errorf("the calls saw %+v, in %d connections", all, b.connects())
	}
	if a := b.Activities(run); a[0].End != enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED {
		t.Errorf("the activities are %+v; want the first cancelled", a)
	}
}

// A workflow that is terminated leaves no request behind.
func TestTerminate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.TaskQueue))}})
	blocked := fixture.BlockArguments{Began: b.File("began"), Canceled: b.File("canceled")}
	run := begin(b, stateless.Options{CallTimeout: testTimeout}, once(fixture.Block, blocked))
	b.AwaitLines(blocked.Began, 1)
	if err := b.Client.TerminateWorkflow(b.Ctx, run.GetID(), run.GetRunID(), "a test"); err != nil {
		t.Fatal(err)
	}
	b.AwaitLines(blocked.Canceled, 1)
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
			b.StartWorker(b.NewWorker(worker.Options{LocalActivityWorkerOnly: true}))
			host := b.Host(session.Options{DrainTimeout: test.drain, Servers: []session.Server{b.counted(overStdio(b.TaskQueue))}})
			blocked := fixture.BlockArguments{Began: b.File("began"), Until: b.File("until")}
			run := begin(b, stateless.Options{TaskQueue: b.Hosts(), Repeatable: map[string]bool{fixture.Block: test.repeatable}}, once(fixture.Block, blocked))
			b.AwaitLines(blocked.Began, 1)
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
				if s := run.Result(); s.Text != "done" {
					t.Errorf("the call saw %+v", s)
				}
				<-stopped
			case test.repeatable:
				<-stopped
				if left := b.Processes(); len(left) > 0 {
					t.Errorf("processes are left: %v", left)
				}
				b.Host(session.Options{Servers: []session.Server{b.counted(overStdio(b.TaskQueue))}})
				b.AwaitLines(blocked.Began, 2)
				if err := fixture.AppendLine(blocked.Until, "now"); err != nil {
					t.Fatal(err)
				}
				if s := run.Result(); s.Text != "done" {
					t.Errorf("the call saw %+v", s)
				}
				return
			default:
				<-stopped
				b.want(run.Result(), failure.TypeCall, failure.ReasonWorkerStopped, failure.RanUnknown)
			}
			if left := b.Processes(); len(left) > 0 {
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
	blocked := fixture.BlockArguments{Began: b.File("began")}
	run := begin(b, stateless.Options{TaskQueue: b.Hosts()}, once(fixture.Block, blocked))
	b.AwaitLines(blocked.Began, 1)
	host.Stop()
	b.want(run.Result(), failure.TypeCall, failure.ReasonWorkerStopped, failure.RanUnknown)
}

// Without the plugin, by session.Register, calls work too, and the connections are
// closed when the worker stops.
func TestRegister(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.NewWorker(worker.Options{})
	if err := session.Register(w, b.counted(overStdio(b.TaskQueue))); err != nil {
		t.Fatal(err)
	}
	b.StartWorker(w)
	for range 2 {
		if s := do(b, stateless.Options{}, once(fixture.Get, nil)); s.Text != "0" {
			t.Errorf("the call saw %+v", s)
		}
	}
	if b.connects() != 1 || len(b.Processes()) != 1 {
		t.Errorf("%d connections, %d processes", b.connects(), len(b.Processes()))
	}
	w.Stop()
	b.Eventually("the process is gone", func() bool { return len(b.Processes()) == 0 })
}
