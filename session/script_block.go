package session

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
)

// runScript runs a script on the block's session: at most once, as it is one operation
// of the ledger.
func (b *block) runScript(ctx context.Context, in queue.RunScript) (*encoded, error) {
	in.MaxSends = 0 // an answer that was lost on its way is in the ledger
	return b.once(ctx, in.Operation, in.Script, func(ctx context.Context) outcome {
		script, err := prepareScript(b.attempt.server.Name, in)
		if err != nil {
			return outcome{err: asFinal(err)} // no other worker has this session
		}
		end := script.run(ctx, b)
		if err := b.cutScript(script, end); err != nil {
			activity.GetLogger(ctx).Warn("mcpsession: a script was ended", "script", in.Script, "server", script.server, "cause", end.cause, "error", end.err)
			return outcome{err: err}
		}
		value, err := script.outcome(end)
		return outcome{value: value, err: err, toolsChanged: b.toolsChanged.Load()}
	})
}

// cutScript is the failure of a script that was ended from outside; nil if it came to
// an end of its own.
func (b *block) cutScript(script *preparedScript, end scriptEnd) error {
	e := b.ending()
	switch {
	case end.err == nil:
		return nil
	case e != nil:
		return e.callErr(b.attempt, script.Script, failure.RanUnknown)
	case errors.Is(end.cause, errCallCanceled):
		return temporal.NewCanceledError()
	case end.cause != nil:
		reason, message := script.cut(end)
		return b.attempt.callFailure(reason, script.Script, failure.RanUnknown, message)
	}
	return nil
}

// initialized implements [asker].
func (b *block) initialized() *mcp.InitializeResult { return b.conn.InitializeResult() }

// request implements [asker].
func (b *block) request(ctx context.Context, op queue.Operation, tool string, asks request) (result any, err error) {
	_, err = b.exchange(ctx, op, tool, func(ctx context.Context, x *exchange) (err error) {
		result, err = x.request(ctx, func(ctx context.Context) (any, error) { return asks(ctx, b.conn.ClientSession) })
		return err
	})
	return result, err
}
