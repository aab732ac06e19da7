package replay

import (
	"context"
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
)

// testTimeout bounds every test: a hang is a failure, told by name.
const testTimeout = 3 * time.Minute

// taskQueue is that of the workflows, in every recording.
const taskQueue = "replaytests"

// A bundle is what a test has to itself.
type bundle struct {
	*testing.T
	ctx      context.Context
	client   client.Client
	programs string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	options, err := server.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.Logger, options.Identity = quiet{}, recorder
	c, err := client.DialContext(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b := &bundle{T: t, ctx: ctx, client: c}
	b.programs = programs(b)
	return b
}

// worker returns a worker that holds the sessions of a task queue.
func (b *bundle) worker(taskQueue string, interceptors ...interceptor.WorkerInterceptor) worker.Worker {
	b.Helper()
	plugin, err := session.NewPlugin(session.Options{Servers: servers(b.programs)})
	if err != nil {
		b.Fatal(err)
	}
	return worker.New(b.client, taskQueue, worker.Options{
		Identity: recorder, Plugins: []worker.Plugin{plugin}, Interceptors: interceptors, DeadlockDetectionTimeout: testTimeout,
	})
}

// begin starts a worker, until the test's end.
func (b *bundle) begin(w worker.Worker) {
	b.Helper()
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
}

func activityName(name string) activity.RegisterOptions { return activity.RegisterOptions{Name: name} }

// start starts a situation's workflow, in place of one that an earlier test has left.
func (b *bundle) start(name string) client.WorkflowRun {
	b.Helper()
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{
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
	b.eventually("the run goes on after its calls", func() bool {
		calls, types, settled := 0, map[int64]string{}, false
		for events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
			event, err := events.Next()
			if err != nil {
				b.Fatal(err)
			}
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
	described, err := b.client.DescribeWorkflow(b.ctx, run.GetID(), run.GetRunID())
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

// eventually returns once the condition holds.
func (b *bundle) eventually(what string, condition func() bool) {
	b.Helper()
	for !condition() {
		select {
		case <-b.ctx.Done():
			b.Fatalf("in vain awaited: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
