package replay

import (
	"slices"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
)

// A run that was reset has events of the run before, which name that one; its code
// names itself. It replays all the same, and twice reset too.
func TestResetRunsReplay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker("replaytests-reset")
	workflows.Register(w)
	b.StartWorker(w)
	run, err := b.Client.ExecuteWorkflow(b.Ctx, client.StartWorkflowOptions{TaskQueue: "replaytests-reset"}, "open")
	if err != nil {
		t.Fatal(err)
	}
	b.awaitCalls(run, 1)
	for range 2 {
		run = b.reset(run)
		b.Eventually("the new run has lost its session", func() bool {
			return b.pending(run, "mcp.counter.session") == nil && b.has(run, enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED)
		})
	}
	if err := b.Client.SignalWorkflow(b.Ctx, run.GetID(), run.GetRunID(), workflows.Go, nil); err != nil {
		t.Fatal(err)
	}
	if err := run.Get(b.Ctx, nil); err == nil {
		t.Fatal("the run went on with a session that was not its own")
	}
	h := b.fetch(run.GetID(), run.GetRunID())
	for _, exact := range []bool{false, true} {
		if err := h.Replay(replaytests.Options{Register: workflows.Register, Exact: exact}); err != nil {
			t.Errorf("exact %v: %v", exact, err)
		}
	}
}

// reset resets a run to its last workflow task, and returns the new run.
func (b *bundle) reset(run client.WorkflowRun) client.WorkflowRun {
	b.Helper()
	var last int64
	for _, event := range b.fetch(run.GetID(), run.GetRunID()).Events {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			last = event.GetEventId()
		}
	}
	return b.Reset(run, last)
}

// has reports whether a run has an event of a type.
func (b *bundle) has(run client.WorkflowRun, eventType enumspb.EventType) bool {
	b.Helper()
	return slices.ContainsFunc(b.History(run).GetEvents(), func(event *historypb.HistoryEvent) bool {
		return event.GetEventType() == eventType
	})
}
