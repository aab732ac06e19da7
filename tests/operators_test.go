package tests

import (
	"testing"
	"time"

	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// execution names the driver's run in requests.
func (d *driver) execution() *commonpb.WorkflowExecution {
	return &commonpb.WorkflowExecution{WorkflowId: d.run.GetID(), RunId: d.run.GetRunID()}
}

// pendingActivity returns the run's pending activity of a type; nil if there is
// none.
func (d *driver) pendingActivity(activityType string) *workflowpb.PendingActivityInfo {
	d.Helper()
	all, err := d.described(d.ctx, d.run.GetID(), d.run.GetRunID())
	if err != nil {
		d.Fatal(err)
	}
	for _, pending := range all {
		if pending.GetActivityType().GetName() == activityType {
			return pending
		}
	}
	return nil
}

// sessionActivity returns the run's pending session activity.
func (d *driver) sessionActivity() *workflowpb.PendingActivityInfo {
	d.Helper()
	pending := d.pendingActivity(queue.SessionActivity("counter"))
	if pending == nil {
		d.Fatal("no session activity is pending")
	}
	return pending
}

// steadyHeartbeat is the heartbeat timeout where a test waits for beats, and a slow
// machine must lose none.
const steadyHeartbeat = 4 * shortHeartbeat

// An operate is something that an operator does to an activity of a run.
type operate func(d *driver, id string)

// reset resets an activity.
func reset(d *driver, id string, dropDetails bool) {
	d.Helper()
	if _, err := d.client.WorkflowService().ResetActivity(d.ctx, &workflowservice.ResetActivityRequest{
		Namespace: server.Namespace, Execution: d.execution(), ResetHeartbeat: dropDetails,
		Activity: &workflowservice.ResetActivityRequest_Id{Id: id},
	}); err != nil {
		d.Fatal(err)
	}
}

func resetKeeping(d *driver, id string)  { d.Helper(); reset(d, id, false) }
func resetDropping(d *driver, id string) { d.Helper(); reset(d, id, true) }

func pause(d *driver, id string) {
	d.Helper()
	if _, err := d.client.WorkflowService().PauseActivity(d.ctx, &workflowservice.PauseActivityRequest{
		Namespace: server.Namespace, Execution: d.execution(), Activity: &workflowservice.PauseActivityRequest_Id{Id: id},
	}); err != nil {
		d.Fatal(err)
	}
}

func unpause(d *driver, id string, with *workflowservice.UnpauseActivityRequest) {
	d.Helper()
	with.Namespace, with.Execution, with.Activity = server.Namespace, d.execution(), &workflowservice.UnpauseActivityRequest_Id{Id: id}
	if _, err := d.client.WorkflowService().UnpauseActivity(d.ctx, with); err != nil {
		d.Fatal(err)
	}
}

func pauseAndUnpause(d *driver, id string) {
	d.Helper()
	pause(d, id)
	unpause(d, id, &workflowservice.UnpauseActivityRequest{})
}

// pauseAndUnpauseAnew makes the activity forget what it can.
func pauseAndUnpauseAnew(d *driver, id string) {
	d.Helper()
	pause(d, id)
	unpause(d, id, anew())
}

func anew() *workflowservice.UnpauseActivityRequest {
	return &workflowservice.UnpauseActivityRequest{ResetAttempts: true, ResetHeartbeat: true}
}

// change changes an activity's options, of which the mask names the field.
func change(mask string, options *activitypb.ActivityOptions) operate {
	return func(d *driver, id string) {
		d.Helper()
		if _, err := d.client.WorkflowService().UpdateActivityOptions(d.ctx, &workflowservice.UpdateActivityOptionsRequest{
			Namespace: server.Namespace, Execution: d.execution(), ActivityOptions: options,
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{mask}},
			Activity:   &workflowservice.UpdateActivityOptionsRequest_Id{Id: id},
		}); err != nil {
			d.Fatal(err)
		}
	}
}

func moveTo(taskQueue string) operate {
	return change("task_queue.name", &activitypb.ActivityOptions{TaskQueue: &taskqueuepb.TaskQueue{Name: taskQueue}})
}

func heartbeatEvery(timeout time.Duration) operate {
	return change("heartbeat_timeout", &activitypb.ActivityOptions{HeartbeatTimeout: durationpb.New(timeout)})
}

func mayTake(timeout time.Duration) operate {
	return change("start_to_close_timeout", &activitypb.ActivityOptions{StartToCloseTimeout: durationpb.New(timeout)})
}

// awaitBeats returns once the server has had that many more heartbeats, and with
// them the session's marker.
func (d *driver) awaitBeats(n int) {
	d.Helper()
	last := d.sessionActivity().GetLastHeartbeatTime().AsTime()
	for range n {
		d.eventually("a heartbeat has come", func() bool {
			now := d.sessionActivity().GetLastHeartbeatTime().AsTime()
			defer func() { last = now }()
			return now.After(last)
		})
	}
	if len(d.sessionActivity().GetHeartbeatDetails().GetPayloads()) == 0 {
		d.Error("the heartbeats carry no marker")
	}
}

// What an operator does to the activity of a session that serves, idle or in a
// call, leaves the session alone or ends it: then the workflow is told why, the
// call has failed with what is known of its tool, and the server is closed. In
// neither case is there another session.
func TestOperatorOnASession(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		operate operate
		lost    failure.Reason // none: the session goes on
	}{
		"paused":                    {operate: pause},
		"unpaused":                  {operate: pauseAndUnpause},
		"unpaused, details dropped": {operate: pauseAndUnpauseAnew},
		"moved to another queue":    {operate: moveTo("elsewhere")},
		"given a longer heartbeat":  {operate: heartbeatEvery(longHeartbeat)},
		"reset":                     {operate: resetKeeping, lost: failure.ReasonReset},
		"reset, details dropped":    {operate: resetDropping, lost: failure.ReasonReset},
		"given less time":           {operate: mayTake(time.Second), lost: failure.ReasonExpired},
		// It beats too rarely for what is asked of it now.
		"given a shorter heartbeat": {operate: heartbeatEvery(time.Second), lost: failure.ReasonHostLost},
	} {
		for _, inCall := range []bool{false, true} {
			if inCall {
				name += ", in a call"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := setupFaults(t)
				tool := b.hostHeld(worker.Options{})
				d := b.drive(b.options(steadyHeartbeat))
				block := d.open()
				call := block.beginCall(held, nil)
				b.eventually("the tool runs", func() bool { return tool.runs.Load() == 1 })
				if !inCall {
					tool.open()
					if err := call.err(); err != nil {
						t.Fatal(err)
					}
				}

				operated := time.Now()
				tc.operate(d, d.sessionActivity().GetActivityId())
				if tc.lost == "" {
					d.awaitBeats(2)
					tool.open()
					tool.wantRanOnce(block, call)
					return
				}
				b.awaitSessionEnd(d.run)
				b.toldAfter(operated, "the workflow was told")
				if inCall {
					b.wantLoss(call.err(), tc.lost, failure.RanUnknown)
				}
				details := b.wantLoss(block.callUnscheduled(), tc.lost, failure.RanNo)
				if details.Host != block.Host || details.Attempt != 1 {
					t.Errorf("the failure names attempt %d on %q", details.Attempt, details.Host)
				}
				b.wantLoss(block.close(), tc.lost, "")
				b.eventually("the MCP server is closed", func() bool { return tool.sessions() == 0 })
				b.toldAfter(operated, "the MCP server was closed")
				if cancels := tool.cancels.Load(); inCall != (cancels == 1) || tool.runs.Load() != 1 {
					t.Errorf("the tool ran %d times and was cancelled %d times", tool.runs.Load(), cancels)
				}
				b.wantConnects("here")
			})
		}
	}
}

// A host dies, and before the server has noticed, an operator resets the session
// activity and drops its details. That brings no other session about.
func TestActivityResetAfterItsHostDied(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	first := b.startHost(hostConfig{Name: "first"})
	// Long enough for the reset to come first.
	d := b.drive(b.options(2 * shortHeartbeat))
	block := d.open()
	b.startHost(hostConfig{Name: "second"})
	first.Kill()
	killed := time.Now()
	resetDropping(d, d.sessionActivity().GetActivityId())
	b.awaitSessionEnd(d.run)
	b.toldAfter(killed, "the workflow was told")
	b.wantOpenedBy(b.wantLoss(block.callUnscheduled(), failure.ReasonHostLost, failure.RanNo), "first")
	b.wantConnects("first")
}

// A host dies while its session activity is paused, for which the server keeps no
// timeout: the loss is told as soon as an operator ends the pause.
func TestHostKilledWhilePaused(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	first := b.startHost(hostConfig{Name: "first"})
	d := b.drive(b.options(steadyHeartbeat))
	block := d.open()
	b.startHost(hostConfig{Name: "second"})
	id := d.sessionActivity().GetActivityId()
	pause(d, id)
	d.awaitBeats(1)
	first.Kill()
	pending := block.beginCall(fixture.Incr, nil)
	unpause(d, id, &workflowservice.UnpauseActivityRequest{})
	b.wantOpenedBy(b.wantLoss(pending.err(), failure.ReasonHostLost, failure.RanUnknown), "first")
	b.wantLoss(block.callUnscheduled(), failure.ReasonHostLost, failure.RanNo)
	b.wantConnects("first")
}
