package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

// A script's attempt makes requests of its own session as a block does of its.

// initialized implements [asker].
func (a *scriptAttempt) initialized() *mcp.InitializeResult { return a.lease.InitializeResult() }

// request implements [asker].
func (a *scriptAttempt) request(ctx context.Context, op queue.Operation, tool string, asks request) (_ any, err error) {
	ctx, send := transport.TrackSend(ctx)
	x := &exchange{holder: a, conn: a.lease.connection, server: a.server.Name, tool: tool, op: op, send: send}
	defer func() {
		if p := recover(); p != nil {
			err = x.panicked(p)
		}
	}()
	if a.slots != nil {
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
		case <-ctx.Done():
		}
	}
	// A host that was paused may come here before its own timers have fired.
	if a.leaseLeft() <= 0 {
		a.cancel(errLeaseLost)
		return nil, a.cutShort(errLeaseLost, tool, failure.RanNo)
	}
	if ctx.Err() != nil {
		return nil, x.judge(ctx, context.Cause(ctx))
	}
	return x.request(ctx, func(ctx context.Context) (any, error) { return asks(ctx, a.lease.ClientSession) })
}

// fail implements [holder].
func (a *scriptAttempt) fail(message string, d failure.Details) error {
	d.Server, d.Host = a.server.Name, a.host.identity()
	return failure.New(failure.TypeCall, message, d, nil)
}

// cutShort implements [holder].
func (a *scriptAttempt) cutShort(err error, tool string, ran failure.ToolRan) error {
	d := failure.Details{Reason: failure.ReasonServerGone, Tool: tool, ToolRan: ran}
	if cause := context.Cause(a.ctx); cause != nil && !errors.Is(cause, errServerGone) {
		d.Reason = reasonOf(cause)
		return a.fail("the script was ended: "+cause.Error(), d)
	}
	if cause := a.lease.cause(); cause != nil {
		err = cause
	}
	return a.fail(fmt.Sprintf("the script's session is lost: %v", scrubbed(err)), d)
}

// errServerGone is the cause of a script's end whose server is gone.
var errServerGone = errors.New("the MCP server is gone")

// watchServer ends the script's context once its server is gone. A script that is in a
// call learns of it by that call first, which says more.
func (a *scriptAttempt) watchServer() (stop func()) {
	ended, quit := make(chan struct{}), make(chan struct{})
	go func() {
		_ = a.lease.Wait()
		close(ended)
	}()
	go func() {
		select {
		case <-a.lease.gone(): // never, if nothing tells
		case <-ended:
		case <-quit:
			return
		}
		select {
		case <-time.After(politeTimeout):
			a.cancel(errServerGone)
		case <-quit:
		}
	}()
	return func() { close(quit) }
}
