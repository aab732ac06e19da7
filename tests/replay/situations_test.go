package replay

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
)

// A play is what has to happen around the run of a situation. It starts the run, and
// returns when its history is to be read.
type play func(b *bundle, name string) client.WorkflowRun

// plays are those that are more than a run.
var plays = map[string]play{
	"open":                  stayOpen,
	"refused-retry":         resetSession,
	"ended-in-call":         killHost,
	"ended-in-call-waiting": killHost,
	"canceled":              cancelRun,
}

// runToEnd starts a run and waits for its end.
func runToEnd(b *bundle, name string) client.WorkflowRun {
	b.Helper()
	run := b.start(name)
	b.awaitEnd(run)
	return run
}

func (b *bundle) awaitEnd(run client.WorkflowRun) {
	b.Helper()
	if err := run.Get(b.Ctx, nil); err != nil {
		b.Fatalf("%s: %v", run.GetID(), err)
	}
}

// stayOpen leaves the run in its block until the test's end.
func stayOpen(b *bundle, name string) client.WorkflowRun {
	b.Helper()
	run := b.start(name)
	b.Cleanup(func() {
		if err := b.Client.SignalWorkflow(b.Ctx, run.GetID(), run.GetRunID(), workflows.Go, nil); err != nil {
			b.Error(err)
			return
		}
		b.awaitEnd(run)
	})
	b.awaitCalls(run, 1)
	return run
}

// resetSession resets the session activity, as an operator can: its next attempt
// finds what the first one has marked.
func resetSession(b *bundle, name string) client.WorkflowRun {
	b.Helper()
	run := b.start(name)
	b.awaitCalls(run, 1)
	if _, err := b.Client.WorkflowService().ResetActivity(b.Ctx, &workflowservice.ResetActivityRequest{
		Namespace: server.Namespace,
		Execution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		Activity:  &workflowservice.ResetActivityRequest_Type{Type: queue.SessionActivity(workflows.Server)},
	}); err != nil {
		b.Fatal(err)
	}
	b.awaitEnd(run)
	return run
}

// killHost kills the session's host while the second call is on it.
func killHost(b *bundle, name string) client.WorkflowRun {
	b.Helper()
	host := b.StartHost(roleHost, b.programs)
	run := b.start(name)
	b.awaitCalls(run, 1)
	b.Eventually("the call is on its host", func() bool {
		return b.pending(run, queue.OperationActivity(workflows.Server, queue.OperationCallTool)) != nil
	})
	host.Kill()
	b.awaitEnd(run)
	return run
}

// cancelRun cancels the workflow in its block.
func cancelRun(b *bundle, name string) client.WorkflowRun {
	b.Helper()
	run := b.start(name)
	b.awaitCalls(run, 1)
	if err := b.Client.CancelWorkflow(b.Ctx, run.GetID(), run.GetRunID()); err != nil {
		b.Fatal(err)
	}
	if err := run.Get(b.Ctx, nil); err == nil {
		b.Fatalf("%s ended without an error, though it was cancelled", run.GetID())
	}
	return run
}

// fetch reads the history of a run.
func (b *bundle) fetch(workflowID, runID string) *replaytests.History {
	b.Helper()
	h, err := replaytests.Fetch(b.Ctx, b.Client, workflowID, runID)
	if err != nil {
		b.Fatal(err)
	}
	return h
}
