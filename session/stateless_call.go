package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

// A statelessCall is one attempt of a stateless operation.
type statelessCall struct {
	*stateless
	wishes
	op     queue.Operation
	tool   string
	asks   request
	info   activity.Info
	client client.Client

	// ctx is the request's: it ends by the workflow's cancel, with its worker, and
	// shortly before the activity's own timeout, which nobody would be left to tell.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// lease is the connection of the request, and broken tells that it can't be used
	// any more.
	lease  *lease
	broken bool

	// beats is held during a heartbeat: leaves is what each of them leaves, and doubt
	// when the last one ended of which nobody knows whether it has arrived yet.
	beats  sync.Mutex
	leaves []any
	doubt  time.Time
	// leased is when the last acknowledged heartbeat was sent: see leaseLeft.
	leased atomic.Pointer[time.Time]
}

// wishes are what a caller says of its connection.
type wishes struct {
	argument       json.RawMessage
	connectTimeout time.Duration // zero is the server's own
	perCall        bool
}

// timeToTell is how long before an activity's own timeout its request ends: enough
// for a busy machine to say so. A quarter of the time, if that is less.
const timeToTell = 5 * time.Second

// run makes the request, unless an earlier attempt may have made it.
func (c *statelessCall) run(ctx context.Context) (json.RawMessage, error) {
	return c.within(ctx, c.admit, c.request)
}

// within does what an attempt is for, in its time, and leaves word of it, if the
// attempt is admitted.
func (c *statelessCall) within(ctx context.Context, admit func(context.Context) error,
	do func() (json.RawMessage, error)) (json.RawMessage, error) {
	left := time.Until(c.info.Deadline)
	deadline := c.info.Deadline.Add(-min(timeToTell, left/4))
	deadlined, cancelDeadline := context.WithDeadlineCause(context.WithoutCancel(ctx), deadline, errNoTimeLeft)
	defer cancelDeadline()
	c.ctx, c.cancel = context.WithCancelCause(deadlined)
	defer c.cancel(nil)

	if err := admit(ctx); err != nil {
		return nil, err
	}
	stopWatching := c.watch(ctx)
	value, err := do()
	stopWatching()
	return value, c.settled(ctx, value, err)
}

// request makes the request. One that was refused before it ran, since the
// connection had broken while it lay idle, is made on another connection; each such
// connection leaves the pool, so there is an end to it.
func (c *statelessCall) request() (json.RawMessage, error) {
	for {
		l, err := c.take()
		if err != nil {
			return nil, c.unopened(err)
		}
		c.lease, c.broken = l, false
		value, err := c.requestOn(l)
		if d, failed := failure.Call(err); failed && d.Reason == failure.ReasonCallTimeout {
			c.pool.giveBackDoubted(l)
		} else {
			c.pool.giveBack(l, c.broken)
		}
		if err == nil || !c.broken || !l.reused || failure.RanOf(err) != failure.RanNo || c.ctx.Err() != nil {
			return value, err
		}
	}
}

func (c *statelessCall) take() (*lease, error) {
	if len(c.argument) > 0 || c.perCall {
		return c.pool.takeApart(c.ctx, func(ctx context.Context) (*connection, error) { return c.connect(ctx, c.argument) })
	}
	if c.connectTimeout == 0 {
		return c.pool.take(c.ctx)
	}
	// Others wait for the connection, too; this call waits no longer.
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.connectTimeout, errConnectTimeout)
	defer cancel()
	l, err := c.pool.take(ctx)
	if errors.Is(err, errConnectTimeout) && c.ctx.Err() == nil {
		err = &transport.Fault{Reason: failure.ReasonConnectTimeout, ToolRan: failure.RanNo,
			Message: fmt.Sprintf("none was there within the caller's ConnectTimeout (%v)", c.connectTimeout)}
	}
	return l, err
}

// unopened is the failure of a call for which there is no connection.
func (c *statelessCall) unopened(err error) error {
	return c.unopenedBy(c.opener(c.ctx, c.argument), err)
}

func (c *statelessCall) unopenedBy(opener *opener, err error) error {
	switch cause := context.Cause(c.ctx); {
	case errors.Is(cause, errCallCanceled):
		return temporal.NewCanceledError()
	case cause != nil:
		err = cause
	}
	if reason := reasonOf(err); reason != "" {
		return opener.retryable(reason, err)
	}
	return opener.failure(err)
}

// reasonOf is the reason of what has ended a call from outside; empty for what has
// not.
func reasonOf(err error) failure.Reason {
	switch {
	case errors.Is(err, errWorkerStopped):
		return failure.ReasonWorkerStopped
	case errors.Is(err, errLeaseLost):
		return failure.ReasonHostLost
	case errors.Is(err, errNoTimeLeft):
		return failure.ReasonConnectTimeout
	case errors.Is(err, errNobodyWaits):
		return failure.ReasonCallCanceled
	}
	return ""
}

// requestOn makes the request on a connection.
func (c *statelessCall) requestOn(l *lease) (_ json.RawMessage, err error) {
	ctx, send := transport.TrackSend(c.ctx)
	x := &exchange{holder: c, conn: l.connection, server: c.server.Name, tool: c.tool, op: c.op, send: send}
	defer func() {
		if p := recover(); p != nil {
			err = x.panicked(p)
		}
	}()
	if l.member != nil && l.member.slots != nil {
		select {
		case l.member.slots <- struct{}{}:
			defer func() { <-l.member.slots }()
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return nil, x.judge(ctx, context.Cause(ctx))
	}
	return x.ask(ctx, func(ctx context.Context) (any, error) { return c.asks(ctx, l.ClientSession) })
}

// repeatable reports whether the request may be sent although it was sent before.
func (c *statelessCall) repeatable() bool { return c.op.MaxSends > 1 }

// fail implements [holder].
func (c *statelessCall) fail(message string, d failure.Details) error {
	d.Server, d.Host = c.server.Name, c.host.identity()
	c.broken = c.broken || breaks(d.Reason)
	if (c.repeatable() || d.ToolRan == failure.RanNo) && passesElsewhere(d.Reason) {
		return failure.NewRetryable(failure.TypeCall, message, d, nil)
	}
	return failure.New(failure.TypeCall, message, d, nil)
}

// breaks reports whether a failed request leaves its connection unfit for others:
// all that is not a word of the server's own on this request. After a refusal of
// credentials the next connection asks for new ones.
func breaks(reason failure.Reason) bool {
	switch reason {
	case failure.ReasonServerGone, failure.ReasonNoAnswer, failure.ReasonUnreachable, failure.ReasonGateway,
		failure.ReasonUnauthorized, failure.ReasonForbidden, failure.ReasonNotFound, failure.ReasonRedirect:
		return true
	}
	return false
}

// passesElsewhere is passes, where there may be another connection or worker.
func passesElsewhere(reason failure.Reason) bool {
	switch reason {
	case failure.ReasonServerGone, failure.ReasonUnreachable, failure.ReasonWorkerStopped, failure.ReasonHostLost:
		return true
	}
	return passes(reason)
}

// cutShort implements [holder].
func (c *statelessCall) cutShort(err error, tool string, ran failure.ToolRan) error {
	d := failure.Details{Reason: failure.ReasonServerGone, Tool: tool, ToolRan: ran}
	if cause := context.Cause(c.ctx); cause != nil {
		d.Reason = reasonOf(cause)
		return c.fail("the call was ended: "+cause.Error(), d)
	}
	if cause := c.lease.cause(); cause != nil {
		err = cause
	}
	return c.fail(fmt.Sprintf("the connection to the MCP server is broken: %v", scrubbed(err)), d)
}

// hasEnded implements [holder].
func (c *statelessCall) hasEnded() bool { return c.ctx.Err() != nil }
