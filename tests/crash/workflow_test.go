package crash

import (
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/toolset"
)

// The blocks that a row's workflow opens, one after the other.
const (
	blockHit  = "hit"  // its first host kills itself
	blockAnew = "anew" // opened by the workflow once that is over
)

// A using is what the workflow is told to do with a block.
type using struct {
	Block     string
	TaskQueue string // of the hosts
	Heartbeat time.Duration
	Call      string // what the call is called
}

// A seen is what the workflow saw of a block, a step each; nil where it did not
// come to the step.
type seen struct {
	Open, Call, Later, Close *outcome
}

// An outcome is what the workflow saw of one step.
type outcome struct {
	Text    string          // a call's result
	Type    string          // the error's; empty without one
	Error   string          // its text
	Lost    bool            // it is a DedicatedWorkerFailure, or caused by one
	Details failure.Details // the error's
	Ran     failure.ToolRan // what failure.RanOf says of it
}

func tell(err error) *outcome {
	if err == nil {
		return &outcome{}
	}
	o := &outcome{Type: "another error", Error: err.Error(), Lost: failure.IsDedicatedWorker(err), Ran: failure.RanOf(err)}
	if d, ok := failure.Open(err); ok {
		o.Type, o.Details = failure.TypeOpen, d
	} else if d, ok := failure.DedicatedWorker(err); ok {
		o.Type, o.Details = failure.TypeDedicatedWorker, d
	}
	return o
}

// String says what the workflow saw in the words of the table, and then all of it.
func (s *seen) String() string {
	what := "something else"
	lost := func(o *outcome) bool { return o != nil && o.Lost }
	fine := func(o *outcome) bool { return o != nil && o.Type == "" }
	switch {
	case lost(s.Open):
		what = seesAtOpen
	case lost(s.Call):
		what = seesInCall
	case fine(s.Open) && fine(s.Call) && lost(s.Close):
		what = seesInClose
	case fine(s.Open) && fine(s.Call) && fine(s.Close):
		what = seesNothing
	}
	var steps []string
	for _, o := range []*outcome{s.Open, s.Call, s.Later, s.Close} {
		if o != nil {
			steps = append(steps, fmt.Sprintf("%+v", *o))
		}
	}
	return what + "; " + strings.Join(steps, ", ")
}

// uses is the row's workflow: it uses blocks as it is told until it is told to end.
func uses(ctx workflow.Context) error {
	if err := workflow.SetUpdateHandler(ctx, "use", use); err != nil {
		return err
	}
	workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
	return nil
}

// use opens a block, calls its tool, and closes it. After the loss of the block in
// a call it calls once more.
func use(ctx workflow.Context, u using) (*seen, error) {
	var s seen
	ts, err := toolset.Open(ctx, toolset.Options{
		Server: serverName, Argument: u.Block,
		Session: workflow.ActivityOptions{TaskQueue: u.TaskQueue, HeartbeatTimeout: u.Heartbeat},
	})
	s.Open = tell(err)
	if err != nil {
		return &s, nil
	}
	s.Call = call(ctx, ts, u.Call)
	if s.Call.Lost {
		s.Later = call(ctx, ts, u.Call+" later")
	}
	s.Close = tell(ts.Close(ctx))
	return &s, nil
}

func call(ctx workflow.Context, ts *toolset.Toolset, name string) *outcome {
	result, err := ts.CallTool(ctx, tool, counting{Call: name})
	o := tell(err)
	if err == nil && len(result.Content) == 1 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok {
			o.Text = text.Text
		}
	}
	return o
}

// A retrying interceptor gives session activities a retry policy of its user's
// own, under which Temporal retries them after the loss of their host.
type retrying struct {
	interceptor.WorkerInterceptorBase
}

func (*retrying) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i := &retryingInbound{}
	i.Next = next
	return i
}

type retryingInbound struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *retryingInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	o := &retryingOutbound{}
	o.Next = next
	return i.Next.Init(o)
}

type retryingOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (o *retryingOutbound) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	if activityType == queue.SessionActivity(serverName) {
		policy := *workflow.GetActivityOptions(ctx).RetryPolicy
		policy.NonRetryableErrorTypes, policy.MaximumAttempts = nil, 0
		ctx = workflow.WithRetryPolicy(ctx, policy)
	}
	return o.Next.ExecuteActivity(ctx, activityType, args...)
}
