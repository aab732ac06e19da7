package tests

import (
	"errors"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
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

// resetActivity resets an activity as an operator does.
func (d *driver) resetActivity(id string, dropDetails bool) {
	d.Helper()
	if _, err := d.client.WorkflowService().ResetActivity(d.ctx, &workflowservice.ResetActivityRequest{
		Namespace: server.Namespace, Execution: d.execution(), ResetHeartbeat: dropDetails,
		Activity: &workflowservice.ResetActivityRequest_Id{Id: id},
	}); err != nil {
		d.Fatal(err)
	}
}

func (d *driver) resetSession(dropDetails bool) {
	d.Helper()
	d.resetActivity(d.sessionActivity().GetActivityId(), dropDetails)
}

// pause and unpause do so to an activity as an operator does.
func (d *driver) pause(id string) {
	d.Helper()
	if _, err := d.client.WorkflowService().PauseActivity(d.ctx, &workflowservice.PauseActivityRequest{
		Namespace: server.Namespace, Execution: d.execution(), Activity: &workflowservice.PauseActivityRequest_Id{Id: id},
	}); err != nil {
		d.Fatal(err)
	}
}

func (d *driver) unpause(id string) {
	d.Helper()
	if _, err := d.client.WorkflowService().UnpauseActivity(d.ctx, &workflowservice.UnpauseActivityRequest{
		Namespace: server.Namespace, Execution: d.execution(), Activity: &workflowservice.UnpauseActivityRequest_Id{Id: id},
	}); err != nil {
		d.Fatal(err)
	}
}

// An operator resets the session activity of an open block, with and without its
// heartbeat details: the session is lost, it says so within a heartbeat interval,
// and no other is opened.
func TestActivityResetWhileOpen(t *testing.T) {
	t.Parallel()
	for name, dropDetails := range map[string]bool{"details kept": false, "details dropped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			b.host(worker.Options{}, session.Options{})
			d := b.drive(b.options(shortHeartbeat))
			block := d.open()
			pid := block.pid()
			reset := time.Now()
			d.resetSession(dropDetails)
			b.awaitGone(pid)
			b.toldAfter(reset, "the MCP server was gone")
			b.awaitSessionEnd(d.run)
			b.toldAfter(reset, "the workflow was told")
			details := b.wantLoss(block.callUnscheduled(), failure.ReasonReset, failure.RanNo)
			if details.Host != block.Host || details.Attempt != 1 {
				t.Errorf("the failure names attempt %d on %q", details.Attempt, details.Host)
			}
			b.wantConnects("here")
		})
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
	first.kill()
	killed := time.Now()
	d.resetSession(true)
	b.awaitSessionEnd(d.run)
	b.toldAfter(killed, "the workflow was told")
	b.wantOpenedBy(b.wantLoss(block.callUnscheduled(), failure.ReasonHostLost, failure.RanNo), "first")
	b.wantConnects("first")
}

// A reset, details dropped, of a session activity that had opened nothing: the
// next attempt hears that the block has no session, and opens one.
func TestActivityResetBeforeItOpened(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{Servers: []session.Server{
		b.counted(inTurn(failing(errors.New("the licence server is busy")), ownedFixture(b.taskQueue))),
	}})
	options := b.options(longHeartbeat)
	options.Session.RetryPolicy = &temporal.RetryPolicy{InitialInterval: time.Hour, MaximumAttempts: 3}
	d := b.drive(options)
	opening := d.beginOpen()
	d.awaitBackoff()
	d.resetSession(true)
	block, err := opening.block()
	if err != nil {
		t.Fatal(err)
	}
	block.must(fixture.Incr)
	block.wantCounter(1)
	if err := block.close(); err != nil {
		t.Error(err)
	}
	b.wantConnects("here", "here")
}

// An operator pauses and unpauses the session activity: the session goes on all
// the while, and the block closes as ever, paused or not.
func TestActivityPaused(t *testing.T) {
	t.Parallel()
	for name, unpause := range map[string]bool{"closed after it": true, "closed under it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			b.host(worker.Options{}, session.Options{})
			d := b.drive(b.options(shortHeartbeat))
			block := d.open()
			pid := block.pid()
			block.must(fixture.Incr)
			id := d.sessionActivity().GetActivityId()
			d.pause(id)
			b.awaitBeats(d, 2)
			block.must(fixture.Incr)
			if unpause {
				d.unpause(id)
				b.awaitBeats(d, 2)
			}
			block.wantCounter(2)
			closed := time.Now()
			if err := block.close(); err != nil {
				t.Error(err)
			}
			b.toldAfter(closed, "the block was closed")
			if !gone(pid) {
				t.Error("the MCP server's process is there after Close has returned")
			}
			b.wantConnects("here")
		})
	}
}

// awaitBeats returns once the server has had that many more heartbeats.
func (b *bundle) awaitBeats(d *driver, n int) {
	b.Helper()
	last := d.sessionActivity().GetLastHeartbeatTime().AsTime()
	for range n {
		b.eventually("a heartbeat has come", func() bool {
			now := d.sessionActivity().GetLastHeartbeatTime().AsTime()
			defer func() { last = now }()
			return now.After(last)
		})
	}
}
