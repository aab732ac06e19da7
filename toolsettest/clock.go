package toolsettest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/internal/hostless"
)

// An activity that blocks holds up the environment's clock. What takes time on that
// clock returns activity.ErrResultPending, and is completed from a callback.

// after calls f when d has passed on the workflow's clock, in the environment's own
// loop: the clock stands while f runs.
func (k *Kit) after(d time.Duration, f func()) { k.env.RegisterDelayedCallback(f, d) }

// complete reports the end of an activity that is pending. One that the workflow has
// cancelled meanwhile is known no more, and nothing comes of it.
func (k *Kit) complete(info activity.Info, result any, err error) {
	if encodeErr := k.env.CompleteActivity(info.TaskToken, result, err); encodeErr != nil {
		k.t.Errorf("toolsettest: the result of activity %s can't be encoded: %v", info.ActivityType.Name, encodeErr)
	}
}

// childRun is how the run IDs of children end in the environment.
const childRun = "_RunID"

// wake gives a child the task that lets it see what was completed before: the
// environment gives one to the main workflow only, whosever the activity is. An update
// that nobody handles is refused, without a trace, in such a task. There is one at a
// time: a run that ends by the first would leave a goroutine of the second behind.
func (k *Kit) wake(run workflow.Execution) {
	if !strings.HasSuffix(run.RunID, childRun) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, waking := k.waking[run]
	k.waking[run] = waking // once more, if it is under way
	if !waking {
		k.after(0, func() {
			w := &woken{k, run}
			if !k.hasBegun(run.ID) || k.env.UpdateWorkflowByID(run.ID, "toolsettest: wake", rand.Text(), w) != nil {
				w.forget() // the run is over
			}
		})
	}
}

// A woken is told when the update has come.
type woken struct {
	kit *Kit
	run workflow.Execution
}

func (w *woken) Accept()             {}
func (w *woken) Complete(any, error) {}
func (w *woken) Reject(error) {
	if again := w.forget(); again {
		w.kit.wake(w.run)
	}
}

// forget ends the wake, and reports whether another was asked for meanwhile.
func (w *woken) forget() (again bool) {
	w.kit.mu.Lock()
	defer w.kit.mu.Unlock()
	again = w.kit.waking[w.run]
	delete(w.kit.waking, w.run)
	return again
}

// hasBegun reports whether a workflow has begun. One that waits to be retried has not,
// and the environment panics when it is asked for anything.
func (k *Kit) hasBegun(workflowID string) (begun bool) {
	defer func() {
		if recover() != nil {
			begun = false
		}
	}()
	_, _ = k.env.QueryWorkflowByID(workflowID, client.QueryTypeStackTrace)
	return true
}

// withClient gives the activity of ctx a Temporal client that the engine can use.
func (k *Kit) withClient(ctx context.Context) context.Context {
	return hostless.WithClient(ctx, &standIn{kit: k, activity: ctx})
}

// A standIn stands for the Temporal client of one activity.
type standIn struct {
	client.Client
	kit      *Kit
	activity context.Context
}

// RecordActivityHeartbeatWithOptions records a heartbeat by the way that the
// environment knows.
func (c *standIn) RecordActivityHeartbeatWithOptions(_ context.Context, o client.RecordActivityHeartbeatOptions) error {
	activity.RecordHeartbeat(c.activity, o.Details...)
	return nil
}

// CompleteActivityWithOptions completes the activity.
func (c *standIn) CompleteActivityWithOptions(_ context.Context, o client.CompleteActivityOptions) error {
	return c.kit.env.CompleteActivity(o.TaskToken, o.Result, o.Err)
}

// WorkflowService returns a service that knows of the one activity.
func (c *standIn) WorkflowService() workflowservice.WorkflowServiceClient {
	return service{info: activity.GetInfo(c.activity)}
}

type service struct {
	workflowservice.WorkflowServiceClient
	info activity.Info
}

var errNothing = errors.New("toolsettest: there is no Temporal server")

// DescribeWorkflowExecution shows the activity as one that nobody has reset.
func (s service) DescribeWorkflowExecution(context.Context, *workflowservice.DescribeWorkflowExecutionRequest, ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: []*workflowpb.PendingActivityInfo{{
		ActivityId: s.info.ActivityID, Attempt: s.info.Attempt, State: enumspb.PENDING_ACTIVITY_STATE_STARTED,
	}}}, nil
}

func (service) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption) (*workflowservice.DescribeNamespaceResponse, error) {
	return nil, errNothing
}
