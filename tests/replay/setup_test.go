package replay

import (
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// testTimeout bounds every test: a hang is a failure, told by name.
const testTimeout = 3 * time.Minute

// taskQueue is that of the workflows, in every recording.
const taskQueue = "replaytests"

// A bundle is what a test has to itself.
type bundle struct {
	*fixture.Bundle
	programs string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{Bundle: fixture.Setup(t, server, testTimeout, func(options *client.Options) { options.Identity = recorder })}
	b.programs = programs(b)
	return b
}

// worker returns a worker that holds the sessions of a task queue.
func (b *bundle) worker(taskQueue string, interceptors ...interceptor.WorkerInterceptor) worker.Worker {
	b.Helper()
	return worker.New(b.Client, taskQueue, worker.Options{
		Identity: recorder, Plugins: []worker.Plugin{b.Plugin(session.Options{Servers: servers(b.programs)})}, Interceptors: interceptors, DeadlockDetectionTimeout: testTimeout,
	})
}

func activityName(name string) activity.RegisterOptions { return activity.RegisterOptions{Name: name} }

// start starts a situation's workflow, in place of one that an earlier test has left.
func (b *bundle) start(name string) client.WorkflowRun {
	b.Helper()
	run, err := b.Client.ExecuteWorkflow(b.Ctx, client.StartWorkflowOptions{
		TaskQueue: taskQueue, ID: workflowID(name),
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	}, name)
	if err != nil {
		b.Fatal(err)
	}
	return run
}

func workflowID(name string) string { return "replaytests-" + name }

// awaitCalls returns once the run has had answers to so many calls and made up its
// mind about them.
func (b *bundle) awaitCalls(run client.WorkflowRun, n int) {
	b.Helper()
	b.Eventually("the run goes on after its calls", func() bool {
		calls, types, settled := 0, map[int64]string{}, false
		for _, event := range b.History(run).GetEvents() {
			if a := event.GetActivityTaskScheduledEventAttributes(); a != nil {
				types[event.GetEventId()] = a.GetActivityType().GetName()
			}
			if a := event.GetActivityTaskCompletedEventAttributes(); a != nil &&
				types[a.GetScheduledEventId()] == queue.OperationActivity(workflows.Server, queue.OperationCallTool) {
				calls, settled = calls+1, false
			}
			settled = settled || event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
		}
		return calls == n && settled
	})
}

// pending returns the run's pending activity of a type, nil if there is none that has
// started.
func (b *bundle) pending(run client.WorkflowRun, activityType string) *workflowpb.PendingActivityInfo {
	b.Helper()
	described, err := b.Client.DescribeWorkflow(b.Ctx, run.GetID(), run.GetRunID())
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range described.RawResponse.GetPendingActivities() {
		if a.GetActivityType().GetName() == activityType && a.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
			return a
		}
	}
	return nil
}
