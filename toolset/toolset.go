package toolset

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// A Toolset is an open block: one live MCP session that belongs to one run. Its
// methods take the context under which their activities are scheduled. It must
// not be passed to another run, and is used by one coroutine at a time like all
// workflow state; several coroutines of a run may share it.
type Toolset struct {
	*state
	settings *settings
	// over is what WithOptions has set, and fault what is wrong with it.
	over  calls.Options
	fault error
}

// A state is what all views of one block share.
type state struct {
	block     queue.Operation // what every operation of the block carries
	taskQueue string
	hosts     string // the task queue that the session was scheduled on
	info      Info

	// session is the session activity; it settles when the session has ended.
	session       workflow.Future
	cancelSession workflow.CancelFunc
	// opened says who opened the session, for the failures that nobody is left to
	// tell it in.
	opened failure.Details
	// lost is the first failure that said that the session is lost, if any.
	lost error
	// closing settles when Close begins.
	closing       workflow.Future
	settleClosing workflow.Settable
	// closed settles with the error of Close once that is over; it is nil before
	// Close was called.
	closed       workflow.Future
	settleClosed workflow.Settable
	// ended is what Ended returns, once it was asked for.
	ended workflow.Future

	// listed is the tool list that was read last, unless the server has said since
	// that it changed; tools is the same, if it is kept. toolChanges counts how often
	// the server has said so.
	listed      *mcp.ListToolsResult
	tools       *mcp.ListToolsResult
	toolChanges int
	// results are those that are kept for calls that come again, by tool and
	// arguments.
	results map[string]*mcp.CallToolResult
}

// Info is what a block knows of its session.
type Info struct {
	// Server is the server's name on the worker.
	Server string
	// Instance names the live session; it is new with every session.
	Instance string
	// TaskQueue is where the block's operations go.
	TaskQueue string
	// Host is the identity of the worker that holds the session.
	Host string
	// HasSessionID says whether the server gave a session id, as it does over HTTP
	// when it keeps state between calls. Over stdio there is none, and the process
	// itself is the session.
	HasSessionID bool
	// Initialize is the server's answer to the MCP handshake: ProtocolVersion,
	// ServerInfo, Capabilities, Instructions. It must not be changed.
	Initialize *mcp.InitializeResult
}

// Info returns what is known of the session since it opened.
func (ts *Toolset) Info() Info { return ts.info }

// Ended returns a future that settles when the session has ended: without an
// error when Close begins, with a DedicatedWorkerFailure when the session is lost.
// It is for a block that waits for something else than a call, such as a signal
// or a timer, and would learn of a loss by its next call only: select on both.
func (ts *Toolset) Ended(ctx workflow.Context) workflow.Future {
	if ts.ended != nil {
		return ts.ended
	}
	ended, settle := workflow.NewFuture(ctx)
	ts.ended = ended
	workflow.GoNamed(ctx, "mcpsession: await the end of "+ts.settings.Server, func(ctx workflow.Context) {
		workflow.NewSelector(ctx).
			AddFuture(ts.closing, func(workflow.Future) {}).
			AddFuture(ts.session, func(workflow.Future) {}).
			Select(ctx)
		if ts.closing.IsReady() {
			settle.Set(nil, nil)
			return
		}
		settle.SetError(ts.loss(ctx, "", "")) // of no call, so it says of no tool whether it ran
	})
	return ended
}

// usable returns nil when an operation may be scheduled.
func (ts *Toolset) usable(ctx workflow.Context, tool string) error {
	switch {
	case ts.fault != nil:
		return ts.fault
	case workflow.IsReadOnly(ctx):
		return fmt.Errorf("toolset: server %q: a block can't be used in a query handler, an update validator or a side effect", ts.settings.Server)
	case ts.closed != nil:
		return failure.NewRetryable(failure.TypeSessionClosed, "the block is closed", failure.Details{
			Server: ts.settings.Server, Reason: failure.ReasonClosed, Tool: tool, ToolRan: failure.RanNo,
		}, nil)
	case ts.lost != nil:
		return ts.again(tool)
	case ts.session.IsReady():
		return ts.loss(ctx, tool, failure.RanNo)
	}
	return nil
}

// again is the block's loss once more, for an operation that came after it.
func (ts *Toolset) again(tool string) error {
	d, _ := failure.DedicatedWorker(ts.lost)
	d.Tool, d.ToolRan = tool, failure.RanNo
	// Not with the first failure as its cause: that says of another call whether
	// its tool ran.
	return failure.NewRetryable(failure.TypeDedicatedWorker, "the session was lost before this call", d, nil)
}
