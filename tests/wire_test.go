package tests

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// These tests speak the wire contract without package toolset, and have the
// Temporal server retry a session activity whose host was lost: toolset does not
// let it, but a client in another language or of another release may. No retry
// opens a session where one may have been open.

// A wireOpening is the input of the step "wire-open".
type wireOpening struct {
	TaskQueue, Key string
	Heartbeat      time.Duration
	Backoff        time.Duration
}

// wireHandlers are the steps of a driver that go by the wire contract alone.
func wireHandlers() map[string]any {
	var session workflow.Future
	return map[string]any{
		// It returns once the session serves or its activity has ended.
		"wire-open": func(ctx workflow.Context, o wireOpening) (opened, error) {
			op := queue.Operation{RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID, Key: o.Key}
			taskQueue := queue.Name("counter", op.RunID, op.Key)
			sessionCtx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
				TaskQueue: o.TaskQueue, StartToCloseTimeout: time.Hour, HeartbeatTimeout: o.Heartbeat, WaitForCancellation: true,
				RetryPolicy: &temporal.RetryPolicy{InitialInterval: o.Backoff, MaximumAttempts: 3},
			})
			session = workflow.ExecuteActivity(sessionCtx, queue.SessionActivity("counter"), queue.SessionInput{RunID: op.RunID, Key: op.Key})
			infoCtx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
				TaskQueue: taskQueue, StartToCloseTimeout: 10 * time.Second,
				RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: time.Second},
			})
			asked := workflow.ExecuteActivity(infoCtx, queue.OperationActivity("counter", queue.OperationSessionInfo), queue.SessionInfo{Operation: op})
			workflow.NewSelector(ctx).
				AddFuture(asked, func(workflow.Future) {}).
				AddFuture(session, func(workflow.Future) {}).
				Select(ctx)
			if !asked.IsReady() {
				return opened{}, session.Get(ctx, nil)
			}
			var info queue.Info
			err := asked.Get(ctx, &info)
			return opened{Host: info.Host, TaskQueue: taskQueue, Instance: info.Instance}, err
		},
		"wire-end": func(ctx workflow.Context) error { return session.Get(ctx, nil) },
		"wire-call": func(ctx workflow.Context, taskQueue string, in queue.CallTool, startToClose time.Duration) (string, error) {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
				TaskQueue: taskQueue, StartToCloseTimeout: startToClose, ScheduleToCloseTimeout: testTimeout,
			})
			var result queue.Result[mcp.CallToolResult]
			err := workflow.ExecuteActivity(ctx, queue.OperationActivity("counter", queue.OperationCallTool), in).Get(ctx, &result)
			return fixture.Text(result.Value), err
		},
	}
}

// wireOpen begins to open a session whose activity is retried after backoff.
func (d *driver) wireOpen(backoff time.Duration) *step {
	d.Helper()
	return d.step("wire-open", wireOpening{TaskQueue: d.hosts(), Key: "key", Heartbeat: shortHeartbeat, Backoff: backoff})
}

// wireEnd returns what the session activity ends with.
func (d *driver) wireEnd() error { d.Helper(); return d.step("wire-end").err() }

// wireCall begins to call a tool in an activity that has no more time than this.
func (k *drivenBlock) wireCall(tool string, startToClose time.Duration) *step {
	k.Helper()
	_, runID, key, ok := queue.Parse(k.TaskQueue)
	if !ok {
		k.Fatalf("the task queue is %q", k.TaskQueue)
	}
	return k.step("wire-call", k.TaskQueue, queue.CallTool{
		Operation: queue.Operation{RunID: runID, Key: key, Instance: k.Instance}, Tool: tool,
	}, startToClose)
}

// awaitBackoff returns once the session activity waits for its next attempt.
func (d *driver) awaitBackoff() {
	d.Helper()
	d.eventually("the session activity waits for a retry", func() bool {
		pending := d.sessionActivity()
		return pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED && pending.GetAttempt() > 1
	})
}

// wantOpens fails the test unless exactly these hosts have begun to start a
// server. A host that refuses may have run its connector, which holds nothing.
func (b *bundle) wantOpens(want int) {
	b.Helper()
	if opens := b.lines(b.file("opens")); len(opens) != want {
		b.Errorf("servers were started by %q, want %d", opens, want)
	}
}

// The host of an open session is killed and another gets the retry: it says whose
// session was lost, and runs no connector.
func TestRetryAfterOpened(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	first := b.startHost(hostConfig{Name: "first"})
	d := b.drive(b.options(shortHeartbeat))
	if _, err := d.wireOpen(time.Second).block(); err != nil {
		t.Fatal(err)
	}
	b.startHost(hostConfig{Name: "second"})
	first.Kill()
	err := d.wireEnd()
	b.wantOpenedBy(b.wantLoss(err, failure.ReasonHostLost, ""), "first")
	mentions(t, err.Error(), "attempt 1 on first opened the session")
	b.wantConnects("first")
}

// The host is killed after it said that a session may be open, and before one was:
// the retry can't know that, and opens none.
func TestRetryAfterMayBeOpen(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	first := b.startHost(hostConfig{Name: "first", HangConnect: true})
	d := b.drive(b.options(shortHeartbeat))
	opening := d.wireOpen(time.Second)
	b.awaitLines(b.connectsFile(), 2)
	b.startHost(hostConfig{Name: "second"})
	first.Kill()
	_, err := opening.block()
	b.wantOpenedBy(b.wantLoss(err, failure.ReasonHostLost, ""), "first")
	mentions(t, err.Error(), "attempt 1 on first may have opened the session")
	b.wantConnects("first", "first hangs")
}

// The host is killed before it said so: the retry hears that the block asks for a
// session, and opens one.
func TestRetryAfterNothing(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	first := b.startHost(hostConfig{Name: "first", HangConnector: true})
	d := b.drive(b.options(shortHeartbeat))
	opening := d.wireOpen(time.Second)
	b.awaitLines(b.connectsFile(), 1)
	b.startHost(hostConfig{Name: "second"})
	first.Kill()
	block, err := opening.block()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := block.wireCall(fixture.Incr, testTimeout).text(); err != nil || text != "1" || block.Host != "second" {
		t.Errorf("incr on %q returned %q, %v", block.Host, text, err)
	}
	b.wantConnects("first", "second")
	b.wantOpens(1)
}

// An operator resets, or pauses and unpauses, the session activity while it waits
// for a retry after its host was lost. With the details kept, the next attempt knows
// that a session was open. With them dropped, all that it finds is a first attempt: it must hear from
// the block before it may open. It hears a call to another session, which it
// refuses, or nothing, and opens none.
func TestResetInBackoff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		operate     operate
		call, begun bool
		reason      failure.Reason
	}{
		"details kept":                       {operate: resetKeeping, reason: failure.ReasonHostLost},
		"details dropped":                    {operate: resetDropping, reason: failure.ReasonReset},
		"details dropped, a call":            {operate: resetDropping, call: true, reason: failure.ReasonReset},
		"details dropped, a call that began": {operate: resetDropping, call: true, begun: true, reason: failure.ReasonReset},
		"unpaused, details kept":             {operate: pauseAndUnpause, reason: failure.ReasonHostLost},
		"unpaused, details dropped":          {operate: pauseAndUnpauseAnew, reason: failure.ReasonReset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			first := b.startHost(hostConfig{Name: "first"})
			d := b.drive(b.options(shortHeartbeat))
			block, err := d.wireOpen(time.Hour).block()
			if err != nil {
				t.Fatal(err)
			}
			b.startHost(hostConfig{Name: "second"})
			var pending *step
			ran := failure.RanNo
			if tc.begun {
				// A retry of the call is what the second host gets.
				pending, ran = block.wireCall(fixture.Block, time.Second), failure.RanUnknown
				d.awaitCall("the call runs", isStarted)
			}
			first.Kill()
			d.awaitBackoff()
			switch {
			case tc.begun:
				d.awaitCall("a retry of the call waits", func(p *workflowpb.PendingActivityInfo) bool { return p.GetAttempt() > 1 && !isStarted(p) })
			case tc.call:
				pending = block.wireCall(fixture.Incr, testTimeout)
			}
			reset := time.Now()
			tc.operate(d, d.sessionActivity().GetActivityId())
			if tc.call {
				b.wantLoss(pending.err(), failure.ReasonOtherInstance, ran)
				b.toldAfter(reset, "the call failed")
			}
			err = d.wireEnd()
			b.toldAfter(reset, "the session activity ended")
			b.wantLoss(err, tc.reason, "")
			b.wantOpens(1)
		})
	}
}
