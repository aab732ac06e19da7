package tests

import (
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/toolset"
)

// callTool is the activity of a call in these tests.
var callTool = queue.OperationActivity("counter", queue.OperationCallTool)

// What an operator does to the activity of a call brings the call about once: with
// its tool running, the attempt that comes of it joins the call; with the call over
// and its completion lost, in retry backoff, it gets what the session has kept.
func TestOperatorOnACall(t *testing.T) {
	t.Parallel()
	for name, operate := range map[string]operate{
		"reset":                      resetKeeping,
		"reset, details dropped":     resetDropping,
		"unpaused":                   pausedFor,
		"unpaused, details dropped":  pausedForAnew,
		"given more time, and reset": func(d *driver, id string) { pausedUntilItEnds(d, id); mayTake(testTimeout)(d, id); resetKeeping(d, id) },
	} {
		t.Run(name+", while it runs", func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			tool := b.hostHeld(worker.Options{})
			d := b.drive(b.options(longHeartbeat))
			block := d.open()
			call := block.beginCall(held, nil)
			b.eventually("the tool runs", func() bool { return tool.runs.Load() == 1 })
			first := d.awaitCall("the call runs", isStarted)
			operate(d, first.GetActivityId())
			d.awaitCall("the call runs again", func(p *workflowpb.PendingActivityInfo) bool {
				return isStarted(p) && p.GetLastStartedTime().AsTime().After(first.GetLastStartedTime().AsTime())
			})
			tool.open()
			tool.wantRanOnce(block, call)
		})
		t.Run(name+", in backoff", func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			tool := b.hostHeld(losingOne())
			tool.open()
			d := b.drive(b.lastingBackoff())
			block := d.open()
			call := block.beginCall(held, nil)
			operate(d, d.awaitCall("the call waits for a retry", isInBackoff).GetActivityId())
			tool.wantRanOnce(block, call)
		})
	}
}

// losingOne are the options of a host that loses the completion of the first call.
func losingOne() worker.Options {
	return worker.Options{Interceptors: []interceptor.WorkerInterceptor{&loser{activityType: callTool, most: 1}}}
}

// lastingBackoff are the options of a block whose calls are retried by an operator
// long before they are by themselves.
func (b *bundle) lastingBackoff() toolset.Options {
	options := b.options(longHeartbeat)
	options.CallTimeout = 5 * time.Second
	options.Operation.StartToCloseTimeout = 5 * time.Second
	options.Operation.RetryPolicy = &temporal.RetryPolicy{InitialInterval: time.Minute}
	return options
}

func isInBackoff(p *workflowpb.PendingActivityInfo) bool { return p.GetAttempt() > 1 && !isStarted(p) }

// pausedFor pauses a call until its attempt has ended for it, and ends the pause.
func pausedFor(d *driver, id string) {
	d.Helper()
	pausedUntilItEnds(d, id)
	unpause(d, id, &workflowservice.UnpauseActivityRequest{})
}

func pausedForAnew(d *driver, id string) {
	d.Helper()
	pausedUntilItEnds(d, id)
	unpause(d, id, anew())
}

func pausedUntilItEnds(d *driver, id string) {
	d.Helper()
	pause(d, id)
	d.awaitCall("the call is paused", func(p *workflowpb.PendingActivityInfo) bool {
		return p.GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSED
	})
}

// An operator moves the activity of a call, whose tool has run, to the queue of
// another block, and resets it, so that it looks like one that never ran. The
// other block's session refuses it, does not say that the tool did not run, and
// goes on.
func TestCallIsMovedToAnotherBlock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]operate{
		"reset":    resetDropping,
		"unpaused": func(d *driver, id string) { unpause(d, id, anew()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			tool := b.hostHeld(losingOne())
			tool.open()
			d := b.drive(b.lastingBackoff())
			one, two := d.open(), d.open()
			call := one.beginCall(held, nil)
			id := d.awaitCall("the call waits for a retry", isInBackoff).GetActivityId()
			pausedUntilItEnds(d, id) // else it would be dispatched by the move
			moveTo(two.TaskQueue)(d, id)
			tc(d, id)
			if details := b.wantLoss(call.err(), failure.ReasonOtherInstance, failure.RanUnknown); details.Tool != held {
				t.Errorf("the failure names the tool %q", details.Tool)
			}
			if text := two.must(held); text != "run 2" {
				t.Errorf("the next call of the other block was %q, want run 2", text)
			}
			if err := two.close(); err != nil {
				t.Error(err)
			}
			b.wantLoss(one.close(), failure.ReasonOtherInstance, "")
			b.eventually("no session is left", func() bool { return tool.sessions() == 0 })
		})
	}
}
