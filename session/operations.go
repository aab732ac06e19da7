package session

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

// beatAfter is how long an operation runs before it begins to heartbeat, by
// which a cancel reaches it. Most are over by then and cost no heartbeat.
const beatAfter = time.Second

// An encoded is a queue.Result whose value was encoded once, when it came.
type encoded = queue.Result[json.RawMessage]

// register registers the block's operations on the worker of its queue.
func (b *block) register(registry worker.ActivityRegistry) {
	as := func(operation queue.OperationName) activity.RegisterOptions {
		return activity.RegisterOptions{Name: queue.OperationActivity(b.attempt.server.Name, operation)}
	}
	registry.RegisterActivityWithOptions(b.sessionInfo, as(queue.OperationSessionInfo))
	registry.RegisterActivityWithOptions(b.closeSession, as(queue.OperationCloseSession))
	registry.RegisterActivityWithOptions(b.listTools, as(queue.OperationListTools))
	registry.RegisterActivityWithOptions(b.callTool, as(queue.OperationCallTool))
	registry.RegisterActivityWithOptions(b.listPrompts, as(queue.OperationListPrompts))
	registry.RegisterActivityWithOptions(b.getPrompt, as(queue.OperationGetPrompt))
	registry.RegisterActivityWithOptions(b.listResources, as(queue.OperationListResources))
	registry.RegisterActivityWithOptions(b.listResourceTemplates, as(queue.OperationListResourceTemplates))
	registry.RegisterActivityWithOptions(b.readResource, as(queue.OperationReadResource))
	registry.RegisterActivityWithOptions(b.complete, as(queue.OperationComplete))
	registry.RegisterActivityWithOptions(b.runScript, as(queue.OperationRunScript))
}

func (b *block) sessionInfo(ctx context.Context, in queue.SessionInfo) (*queue.Info, error) {
	b.arrived()
	defer b.departed()
	if err := b.admitBlock(ctx, activity.GetInfo(ctx), in.Operation, ""); err != nil {
		return nil, err
	}
	b.say(heartbeat.HeardInfo)
	select {
	case <-b.serving:
	case <-b.ctx.Done():
		// This attempt opened no session; another may, and answers the retry.
		return nil, b.attempt.retryable(failure.ReasonConnect, b.ending())
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &queue.Info{
		Instance:     b.instance,
		Attempt:      b.attempt.author.Attempt,
		Host:         b.attempt.author.Host,
		OpenedAt:     b.openedAt,
		HasSessionID: b.conn.ID() != "",
		Initialize:   b.conn.InitializeResult(),
	}, nil
}

func (b *block) closeSession(ctx context.Context, in queue.CloseSession) (*queue.Closed, error) {
	if err := b.admitInstance(ctx, activity.GetInfo(ctx), in.Operation, ""); err != nil {
		return nil, err
	}
	b.end(&ending{kind: endClosed, message: "its block closed it"})
	select {
	case <-b.over:
		return &queue.Closed{Warning: b.warning}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *block) listTools(ctx context.Context, in queue.ListTools) (*encoded, error) {
	list := requestListTools(in)
	return b.operate(ctx, in.Operation, "", func(ctx context.Context, client *mcp.ClientSession) (any, error) {
		// What is announced from here on is news to the block again.
		b.toolsChanged.Store(false)
		return list(ctx, client)
	})
}

func (b *block) callTool(ctx context.Context, in queue.CallTool) (*encoded, error) {
	return b.operate(ctx, in.Operation, in.Tool, requestCallTool(in))
}

func (b *block) listPrompts(ctx context.Context, in queue.ListPrompts) (*encoded, error) {
	return b.operate(ctx, in.Operation, "", requestListPrompts(in))
}

func (b *block) getPrompt(ctx context.Context, in queue.GetPrompt) (*encoded, error) {
	return b.operate(ctx, in.Operation, "", requestGetPrompt(in))
}

func (b *block) listResources(ctx context.Context, in queue.ListResources) (*encoded, error) {
	return b.operate(ctx, in.Operation, "", requestListResources(in))
}

func (b *block) listResourceTemplates(ctx context.Context, in queue.ListResourceTemplates) (*encoded, error) {
	return b.operate(ctx, in.Operation, "", requestListResourceTemplates(in))
}

func (b *block) readResource(ctx context.Context, in queue.ReadResource) (*encoded, error) {
	return b.operate(ctx, in.Operation, "", requestReadResource(in))
}

func (b *block) complete(ctx context.Context, in queue.Complete) (*encoded, error) {
	return b.operate(ctx, in.Operation, "", requestComplete(in))
}

// operate makes the one request of an operation.
func (b *block) operate(ctx context.Context, op queue.Operation, tool string, asks request) (*encoded, error) {
	if op.Timeout <= 0 {
		op.Timeout = queue.DefaultCallTimeout
	}
	return b.once(ctx, op, tool, func(ctx context.Context) outcome {
		return b.perform(ctx, op, tool, func(ctx context.Context) (any, error) { return asks(ctx, b.conn.ClientSession) })
	})
}

// once runs one operation at most once, however many attempts its activity has, and
// returns its outcome to each of them.
func (b *block) once(ctx context.Context, op queue.Operation, tool string, perform func(context.Context) outcome) (*encoded, error) {
	b.arrived()
	defer b.departed()
	info := activity.GetInfo(ctx)
	if err := b.admitInstance(ctx, info, op, tool); err != nil {
		return nil, err
	}
	requestCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	b.ledger.reopen(info.ActivityID, op.MaxSends)
	e, begun := b.ledger.begin(info.ActivityID, cancel)
	if begun {
		b.start(requestCtx, e, tool, perform)
	}
	if err := awaitEntry(ctx, e); err != nil {
		return nil, err
	}
	if e.mayRepeat(op.MaxSends) {
		return nil, failure.Rewrap(e.result().err)
	}
	return b.deliver(ctx, info, e.result(), tool, !begun)
}

// start sets a new entry going, unless the session has ended.
func (b *block) start(ctx context.Context, e *entry, tool string, perform func(context.Context) outcome) {
	if e.sends > 1 {
		ctx = context.WithValue(ctx, resentKey{}, true)
	}
	if !b.begin(func() {
		// An attempt can end long before its request: the session is not idle then.
		b.arrived()
		defer b.departed()
		defer e.cancel(nil)
		// The request ends with its block, not with the attempt that began it.
		defer context.AfterFunc(b.ctx, func() { b.cutOff(e) })()
		b.ledger.finish(e, perform(ctx))
	}) {
		b.ledger.finish(e, outcome{err: b.ending().callErr(b.attempt, tool, unsent(ctx))})
	}
}

// cutOff cancels an entry's request because its block has ended. One whose server is
// gone ends by itself, with the answer if that came before: between an answer and a
// cancel the MCP SDK would choose at random.
func (b *block) cutOff(e *entry) {
	if b.ending().reason == failure.ReasonServerGone {
		select {
		case <-e.done:
		case <-time.After(politeTimeout):
		}
	}
	e.cancel(context.Cause(b.ctx))
}

// awaitEntry waits for the entry's outcome. Of the ways in which an attempt can
// end before it, only the workflow's cancel is meant for the request.
func awaitEntry(ctx context.Context, e *entry) error {
	next := time.NewTimer(beatAfter)
	defer next.Stop()
	for {
		select {
		case <-e.done:
			return nil
		case <-next.C:
			activity.RecordHeartbeat(ctx)
			next.Reset(cancelInterval)
		case <-ctx.Done():
			if !temporal.IsCanceledError(context.Cause(ctx)) {
				return ctx.Err()
			}
			e.cancel(errCallCanceled)
			<-e.done
			return nil
		}
	}
}

// perform makes one request and judges its end.
func (b *block) perform(ctx context.Context, op queue.Operation, tool string, request func(context.Context) (any, error)) (o outcome) {
	var value json.RawMessage
	panicked, err := b.exchange(ctx, op, tool, func(ctx context.Context, x *exchange) (err error) {
		value, err = x.ask(ctx, request)
		return err
	})
	if err != nil {
		return outcome{err: err, again: !panicked && repeatable(err)}
	}
	return outcome{value: value, toolsChanged: b.toolsChanged.Load()}
}

// exchange makes one request under the block's limits, unless the block has ended.
func (b *block) exchange(ctx context.Context, op queue.Operation, tool string,
	do func(context.Context, *exchange) error) (panicked bool, err error) {
	resent := ctx.Value(resentKey{}) != nil
	if tool != "" {
		defer b.attempt.tally.begin(resent)()
	}
	ctx, send := transport.TrackSend(ctx)
	x := &exchange{holder: b, conn: b.conn, server: b.attempt.server.Name, tool: tool, op: op, send: send, resent: resent}
	defer func() {
		if p := recover(); p != nil {
			panicked, err = true, x.panicked(p)
		}
	}()
	if b.slots != nil {
		select {
		case b.slots <- struct{}{}:
			defer func() { <-b.slots }()
		case <-ctx.Done():
		}
	}
	// A host that was paused or cut off may find the operation before its own timers
	// have fired, and a place that came free because the session ends is none to
	// begin in. The block is asked before the request's context, which ends later.
	b.attempt.checkOwner()
	if e := b.ending(); e != nil {
		return false, e.callErr(b.attempt, tool, unsent(ctx))
	}
	if ctx.Err() != nil {
		return false, x.judge(ctx, context.Cause(ctx))
	}
	return false, do(ctx, x)
}

// deliver returns an outcome to an attempt. One that finds the outcome there has
// a predecessor to which it was given in vain: it may have been too large.
func (b *block) deliver(ctx context.Context, info activity.Info, o outcome, tool string, again bool) (*encoded, error) {
	switch {
	case o.err != nil:
		return nil, o.err
	case again && o.size > minimumTooLarge:
		if limit, refused := refusedForSize(ctx, b.attempt.client, info); refused {
			return nil, failure.NewResultTooLarge(failure.SizeDetails{
				Server: b.attempt.server.Name, Tool: tool, Size: int64(o.size), Limit: limit,
			})
		}
	}
	if o.forgotten {
		return nil, b.attempt.callFailure(failure.ReasonForgotten, tool, failure.RanYes,
			fmt.Sprintf("the result of %d bytes was delivered to an earlier attempt, lost, and is not kept any more", o.size))
	}
	return &encoded{Value: &o.value, ToolsChanged: o.toolsChanged}, nil
}
