package tests

import (
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// once is a policy of one attempt.
var once = workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}}

// scheduledWith runs a workflow that opens a block with options, lists the tools
// and calls two, and returns the activities by what they are for. The servers are
// those of the workflow's own worker.
func (b *bundle) scheduledWith(options toolset.Options, servers ...session.Server) map[string]*recorded {
	b.Helper()
	b.worker(worker.Options{}, func(ctx workflow.Context) error {
		return toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			if _, err := ts.ListTools(ctx); err != nil {
				return err
			}
			for _, tool := range []string{fixture.Incr, fixture.Get} {
				if _, err := ts.CallTool(ctx, tool, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}, servers...)
	run := b.start()
	if err := run.Get(b.ctx, nil); err != nil {
		b.Fatal(err)
	}
	names := []string{"session", "session-info", "list-tools", fixture.Incr, fixture.Get, "close-session"}
	activities := b.activities(run, "")
	if len(activities) != len(names) {
		b.Fatalf("the history has %d activities, want %d", len(activities), len(names))
	}
	byName := make(map[string]*recorded)
	for i, a := range activities {
		byName[names[i]] = a
	}
	return byName
}

// What a block schedules without any options, as the history has it: the server
// and the tool in each summary, a heartbeat timeout for the session, 24 h for it,
// 2 min to find a host, and CallTimeout + 10 s for an operation.
func TestDefaultOptionsInTheHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.scheduledWith(toolset.Options{Server: "counter"}, stdio("counter"))
	for name, want := range map[string]struct{ activityType, summary string }{
		"session":       {"mcp.counter.session", "counter: session"},
		"session-info":  {"mcp.counter.session-info", "counter: session-info"},
		"list-tools":    {"mcp.counter.list-tools", "counter: list-tools"},
		fixture.Incr:    {"mcp.counter.call-tool", "counter: incr"},
		fixture.Get:     {"mcp.counter.call-tool", "counter: get"},
		"close-session": {"mcp.counter.close-session", "counter: close-session"},
	} {
		if a := got[name]; a.GetActivityType().GetName() != want.activityType || a.summary != want.summary {
			t.Errorf("%s is activity %s with the summary %q, want %s, %q", name, a.GetActivityType().GetName(), a.summary, want.activityType, want.summary)
		}
	}

	s := got["session"]
	checkDuration(t, "the session's heartbeat timeout", s.GetHeartbeatTimeout().AsDuration(), 30*time.Second)
	checkDuration(t, "the session's schedule-to-start", s.GetScheduleToStartTimeout().AsDuration(), 2*time.Minute)
	checkDuration(t, "the session's start-to-close", s.GetStartToCloseTimeout().AsDuration(), 24*time.Hour)
	if policy := s.GetRetryPolicy(); policy.GetMaximumAttempts() != 3 || policy.GetInitialInterval().AsDuration() != time.Second {
		t.Errorf("the session's retry policy is %v", policy)
	}
	if queue := s.GetTaskQueue(); queue.GetName() != b.taskQueue || queue.GetKind() != enumspb.TASK_QUEUE_KIND_NORMAL {
		t.Errorf("the session went to task queue %v", queue)
	}
	for _, name := range []string{"list-tools", fixture.Incr} {
		checkDuration(t, "start-to-close of "+name, got[name].GetStartToCloseTimeout().AsDuration(), 70*time.Second)
		if policy := got[name].GetRetryPolicy(); policy.GetMaximumAttempts() != 0 {
			t.Errorf("the retry policy of %s is %v: an outcome that was lost on its way must be told", name, policy)
		}
		if a, q := got[name].GetTaskQueue().GetName(), got["close-session"].GetTaskQueue().GetName(); a != q {
			t.Errorf("operations of one block went to %s and %s", a, q)
		}
	}
	checkDuration(t, "start-to-close of session-info", got["session-info"].GetStartToCloseTimeout().AsDuration(), 10*time.Second)
}

// A field of Operation that is set wins over the default, one of a tool over
// that, and ToolTimeouts over CallTimeout; a policy is one field.
func TestOptionsInTheHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	host := *b
	host.taskQueue += "-host"
	host.worker(worker.Options{DisableWorkflowWorker: true}, nil, stdio("counter"))
	got := b.scheduledWith(toolset.Options{
		Server:       "counter",
		CallTimeout:  20 * time.Second,
		ToolTimeouts: map[string]time.Duration{fixture.Get: 40 * time.Second},
		Session: workflow.ActivityOptions{
			TaskQueue: host.taskQueue, HeartbeatTimeout: 7 * time.Second, ScheduleToStartTimeout: 50 * time.Second,
			StartToCloseTimeout: time.Hour, ScheduleToCloseTimeout: 2 * time.Hour, Summary: "mine",
			RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 9}, Priority: temporal.Priority{PriorityKey: 2, FairnessKey: "tenant-7", FairnessWeight: 1.5},
		},
		Operation: workflow.ActivityOptions{
			RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 5, BackoffCoefficient: 3}, ScheduleToCloseTimeout: 3 * time.Minute,
			Priority: temporal.Priority{PriorityKey: 4},
		},
		Tools: map[string]workflow.ActivityOptions{
			fixture.Get: {Summary: "reads", StartToCloseTimeout: 45 * time.Second, HeartbeatTimeout: 11 * time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}},
		},
	})

	s := got["session"]
	checkDuration(t, "the session's heartbeat timeout", s.GetHeartbeatTimeout().AsDuration(), 7*time.Second)
	checkDuration(t, "the session's schedule-to-start", s.GetScheduleToStartTimeout().AsDuration(), 50*time.Second)
	checkDuration(t, "the session's start-to-close", s.GetStartToCloseTimeout().AsDuration(), time.Hour)
	checkDuration(t, "the session's schedule-to-close", s.GetScheduleToCloseTimeout().AsDuration(), 2*time.Hour)
	if s.GetTaskQueue().GetName() != host.taskQueue || s.summary != "mine" || s.GetRetryPolicy().GetMaximumAttempts() != 9 {
		t.Errorf("the session was scheduled as %v with the summary %q", s.ActivityTaskScheduledEventAttributes, s.summary)
	}
	if p := s.GetPriority(); p.GetPriorityKey() != 2 || p.GetFairnessKey() != "tenant-7" || p.GetFairnessWeight() != 1.5 {
		t.Errorf("the session's priority is %v", p)
	}

	incr, get := got[fixture.Incr], got[fixture.Get]
	checkDuration(t, "incr's schedule-to-close", incr.GetScheduleToCloseTimeout().AsDuration(), 3*time.Minute)
	checkDuration(t, "get's start-to-close", get.GetStartToCloseTimeout().AsDuration(), 45*time.Second)
	checkDuration(t, "get's schedule-to-close", get.GetScheduleToCloseTimeout().AsDuration(), 3*time.Minute)
	checkDuration(t, "get's heartbeat timeout", get.GetHeartbeatTimeout().AsDuration(), 11*time.Second)
	if incr.GetRetryPolicy().GetMaximumAttempts() != 5 || incr.GetRetryPolicy().GetBackoffCoefficient() != 3 || incr.summary != "counter: incr" {
		t.Errorf("incr was scheduled with %v and the summary %q", incr.GetRetryPolicy(), incr.summary)
	}
	if get.GetRetryPolicy().GetMaximumAttempts() != 1 || get.GetRetryPolicy().GetBackoffCoefficient() == 3 || get.summary != "reads" {
		t.Errorf("get was scheduled with %v and the summary %q", get.GetRetryPolicy(), get.summary)
	}
	for name, a := range map[string]*recorded{"incr": incr, "get": get} {
		if a.GetPriority().GetPriorityKey() != 4 {
			t.Errorf("the priority of %s is %v", name, a.GetPriority())
		}
	}
	// The dedicated queue is ours, whatever the block's options are.
	if close := got["close-session"].GetTaskQueue().GetName(); get.GetTaskQueue().GetName() != close {
		t.Errorf("operations of one block went to %s and %s", get.GetTaskQueue().GetName(), close)
	}
}

func checkDuration(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// CallTimeout ends a call that hangs, on the server too, as one that may have
// run; ToolTimeouts does for its tool alone. The session goes on. (C16)
func TestCallTimeout(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]toolset.Options{
		"for all tools": {CallTimeout: 300 * time.Millisecond, ToolTimeouts: map[string]time.Duration{fixture.Incr: time.Minute}},
		"for the tool":  {ToolTimeouts: map[string]time.Duration{fixture.Block: 300 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			options.Server = "counter"
			canceled := t.TempDir() + "/canceled"
			type seen struct {
				Fault fault
				Count string
			}
			w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
				err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
					_, err := ts.CallTool(ctx, fixture.Block, fixture.BlockArguments{Canceled: canceled})
					got.Fault = faultOf(err)
					if err := await(ctx, "canceled"); err != nil {
						return err
					}
					got.Count, err = call(ctx, ts, fixture.Incr, nil)
					return err
				})
				return got, err
			}, stdio("counter"))
			condition(w, "canceled", func() bool { return len(notes(canceled)) == 1 })
			run := b.start()
			var got seen
			if err := run.Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if f := got.Fault; f.Type != failure.TypeCall || f.Details.Reason != failure.ReasonCallTimeout || f.Ran != failure.RanUnknown || f.Details.Tool != fixture.Block {
				t.Errorf("the call ended with %+v", f)
			}
			mentions(t, got.Fault.Text, `"counter"`, "CallTimeout", "300ms")
			if got.Count != "1" {
				t.Errorf("the counter is %q", got.Count)
			}
			if attempt := b.activities(run, "mcp.counter.call-tool")[0].started.GetAttempt(); attempt != 1 {
				t.Errorf("the call took %d attempts", attempt)
			}
		})
	}
}
