package session

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
)

// expiryMargin is how long before its own deadline a session ends itself, since
// the server takes no report after it: long enough to close an MCP server that is
// slow to exit. A tenth of the time, if that is less.
const expiryMargin = 30 * time.Second

// watch ends the attempt's block, in whatever phase it is, for the reasons that
// come from the Temporal side. The caller calls stop in the end.
func (a *attempt) watch(ctx context.Context) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		left := time.Until(a.info.Deadline)
		expiry := time.NewTimer(left - min(expiryMargin, left/10))
		defer expiry.Stop()
		select {
		case <-quit:
		case <-expiry.C:
			a.block.end(lost(failure.ReasonExpired, "the session activity's timeout is about to pass (deadline %s)",
				a.info.Deadline.UTC().Format(time.RFC3339)))
		case <-a.host.evicting:
			a.block.end(lost(failure.ReasonWorkerStopped, "the worker that held it was stopped"))
		case <-activity.GetWorkerStopChannel(ctx):
			// The plugin has ended all sessions before this; without it this is all
			// the warning there is.
			a.block.end(lost(failure.ReasonWorkerStopped, "the worker that held it was stopped"))
		case <-a.writer.Done():
			a.block.end(a.disowned())
		case <-ctx.Done():
			// A server that pushes cancels to workers reaches the context directly.
			if temporal.IsCanceledError(context.Cause(ctx)) {
				a.block.end(&ending{kind: endCanceled, message: "it was cancelled"})
			} else {
				a.block.end(lost(failure.ReasonWorkerStopped, "the worker that held it was stopped"))
			}
		}
	}()
	return func() { close(quit); <-done }
}

// checkOwner ends the block of a host that has lost its session, whether or not a
// timer of it has fired since.
func (a *attempt) checkOwner() {
	if !a.writer.Owner() {
		a.block.end(a.disowned())
	}
}

// disowned translates the end of the writer's ownership.
func (a *attempt) disowned() *ending {
	switch a.writer.Ended() {
	case heartbeat.CancelRequested:
		return &ending{kind: endCanceled, message: "it was cancelled"}
	case heartbeat.Reset:
		return lost(failure.ReasonReset, "an operator reset the session activity")
	case heartbeat.NotFound:
		return &ending{kind: endUnowned, reason: failure.ReasonHostLost, message: "the server knows this attempt no more"}
	default:
		return lost(failure.ReasonHostLost, "its host had no heartbeat acknowledged for %v", a.info.HeartbeatTimeout)
	}
}
