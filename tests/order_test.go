package tests

import (
	"os"
	"slices"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A result and the loss of its session come in the same workflow task, as no
// worker has run the workflow meanwhile: the result counts, and the loss is told by
// the next call.
func TestResultWinsOverALossInTheSameTask(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	when := b.file("when")
	type told struct {
		Text string
		Next fault
	}
	flow := func(ctx workflow.Context) (got told, err error) {
		ts, err := toolset.Open(ctx, b.options(longHeartbeat))
		if err != nil {
			return got, err
		}
		if got.Text, err = call(ctx, ts, fixture.ExitSoon, fixture.ExitSoonArguments{When: when}); err != nil {
			return got, err
		}
		_, err = call(ctx, ts, fixture.Get, nil)
		got.Next = faultOf(err)
		return got, nil
	}
	first := b.worker(worker.Options{}, flow)
	run := b.begin(client.StartWorkflowOptions{})
	b.eventually("the call is under way", func() bool {
		return slices.ContainsFunc(b.activities(run, ""), func(r *recorded) bool {
			return r.GetActivityType().GetName() == queue.OperationActivity("counter", queue.OperationCallTool)
		})
	})
	first.Stop()
	if err := os.WriteFile(when, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.eventually("the result and the loss have both come", func() bool {
		pending, err := b.described(b.ctx, run.GetID(), run.GetRunID())
		return err == nil && len(pending) == 0
	})
	b.worker(worker.Options{}, flow)
	var got told
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Text != "soon" || got.Next.Details.Reason != failure.ReasonServerGone || got.Next.Ran != failure.RanNo {
		t.Errorf("the call returned %q, the next %+v", got.Text, got.Next)
	}
}

// An operation that another run sends, with all that it takes to name a live
// session, is refused: its own activity says which run it is of.
func TestOperationOfAnotherRunIsRefused(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	info := block.opened
	_, runID, key, _ := queue.Parse(info.TaskQueue)
	foreign := *b
	foreign.taskQueue += "-foreign"
	foreign.worker(worker.Options{}, func(ctx workflow.Context) (fault, error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: info.TaskQueue, StartToCloseTimeout: testTimeout})
		return faultOf(workflow.ExecuteActivity(ctx, queue.OperationActivity("counter", queue.OperationCallTool), queue.CallTool{
			Operation: queue.Operation{RunID: runID, Key: key, Instance: info.Instance}, Tool: fixture.Incr,
		}).Get(ctx, nil)), nil
	})
	var refused fault
	if err := foreign.start().Get(b.ctx, &refused); err != nil {
		t.Fatal(err)
	}
	if refused.Type != failure.TypeDedicatedWorker || refused.Details.Reason != failure.ReasonOtherInstance {
		t.Errorf("another run's operation ended with %+v", refused)
	}
	if got, err := block.call(fixture.Get, nil); err != nil || got != "0" {
		t.Errorf("the counter is %q, %v; another run has counted", got, err)
	}
}
