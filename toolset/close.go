package toolset

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// closeTimeout bounds one attempt of the close operation: the time that a worker
// takes at most to end a server, and some.
const closeTimeout = 60 * time.Second

// Close ends the session and returns when its server is gone, or the worker's
// bound for that has passed. Calls that are pending are cancelled and fail with
// SessionClosed. It works on a cancelled context, and may be called again, also by
// another coroutine meanwhile: it returns the same error, once that is known.
//
// If the session was lost before, Close returns the DedicatedWorkerFailure.
//
// Don't defer Close: the SDK runs defers when it evicts a workflow from its
// cache, too. Use [With], or call it on every path.
func (ts *Toolset) Close(ctx workflow.Context) error {
	if workflow.IsReadOnly(ctx) {
		return fmt.Errorf("toolset: server %q: a block can't be closed in a query handler, an update validator or a side effect", ts.settings.Server)
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if ts.closed != nil {
		return ts.closed.Get(ctx, nil)
	}
	ts.closed, ts.settleClosed = workflow.NewFuture(ctx)
	ts.settleClosing.Set(nil, nil)
	err := ts.end(ctx)
	ts.settleClosed.Set(nil, err)
	return err
}

func (ts *Toolset) end(ctx workflow.Context) error {
	switch {
	case ts.session.IsReady():
		if ts.lost != nil {
			return ts.lost
		}
		return ts.loss(ctx, "", "")
	case ts.lost != nil:
		// An operation was told of the loss before the session activity's end has
		// come. That end says that the server is gone, which a new block may need; in
		// case it is far, it is asked for.
		ts.cancelSession()
		_ = ts.session.Get(ctx, nil)
		return ts.lost
	}
	c := ts.schedule(ctx, queue.OperationCloseSession, queue.CloseSession{Operation: ts.block}, workflow.ActivityOptions{
		StartToCloseTimeout: closeTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: time.Second, MaximumAttempts: 3},
		Summary:             calls.Summary(ts.settings.Server, queue.OperationCloseSession, ""),
	})
	workflow.NewSelector(ctx).
		AddFuture(c.result, func(workflow.Future) {}).
		AddFuture(ts.session, func(workflow.Future) {}).
		Select(ctx)
	if c.result.IsReady() {
		var closed queue.Closed
		if c.result.Get(ctx, &closed) == nil {
			if closed.Warning != "" {
				workflow.GetLogger(ctx).Warn("mcpsession: the MCP server did not end well", "server", ts.settings.Server, "warning", closed.Warning)
			}
			return nil
		}
		if !ts.session.IsReady() {
			// The operation failed and the session lives: end it the slow way, by a
			// cancel that its next heartbeat brings.
			ts.cancelSession()
		}
	} else {
		c.cancel()
	}
	if err := ts.session.Get(ctx, nil); err == nil || temporal.IsCanceledError(err) {
		return nil
	}
	return ts.loss(ctx, "", "")
}
