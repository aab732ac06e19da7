package toolset

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
)

// A call is an operation that was scheduled, or need not be.
type call struct {
	tool   string
	key    string              // of the result, if it is to be kept
	kept   *mcp.CallToolResult // of an earlier call; then there is no activity
	result workflow.Future
	cancel workflow.CancelFunc
}

// schedule schedules an operation on the block's queue.
func (ts *Toolset) schedule(ctx workflow.Context, operation queue.OperationName, input any, options workflow.ActivityOptions) *call {
	options.TaskQueue = ts.taskQueue
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	return &call{
		result: workflow.ExecuteActivity(ctx, queue.OperationActivity(ts.settings.Server, operation), input),
		cancel: cancel,
	}
}

// await waits for the result of a call, for the session's end or for Close,
// whichever is first, and decodes the result. A result that is there counts,
// whatever else came with it.
func (ts *Toolset) await(ctx workflow.Context, c *call, result any) error {
	workflow.NewSelector(ctx).
		AddFuture(c.result, func(workflow.Future) {}).
		AddFuture(ts.closing, func(workflow.Future) {}).
		AddFuture(ts.session, func(workflow.Future) {}).
		Select(ctx)
	switch {
	case c.result.IsReady():
		err := c.result.Get(ctx, result)
		c.cancel() // frees the context
		return ts.operationError(err, c.tool)
	case ts.closing.IsReady():
		c.cancel()
		return failure.NewRetryable(failure.TypeSessionClosed, "the block was closed while this call was pending", failure.Details{
			Server: ts.settings.Server, Reason: failure.ReasonClosed, Tool: c.tool, ToolRan: failure.RanUnknown,
		}, nil)
	default:
		// Nobody may be left to acknowledge the cancel, so it is not waited for.
		c.cancel()
		return ts.loss(ctx, c.tool, failure.RanUnknown)
	}
}
