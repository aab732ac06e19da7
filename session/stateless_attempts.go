package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
)

// A trace is what an attempt of a stateless operation leaves to the next one, as the
// details of its last heartbeat. An attempt that comes to nothing leaves none: that
// its request was not sent has to be said.
type trace = queue.Trace

// admit returns the failure of an attempt that must not make the request.
func (c *statelessCall) admit(ctx context.Context) error {
	if c.info.WorkflowExecution.RunID != c.op.RunID && !c.repeatable() {
		return c.refused(failure.ReasonWorkflowReset, failure.RanUnknown,
			"the workflow was reset while the call was pending: the run before has made it, or not")
	}
	if c.info.Attempt == 1 {
		return nil
	}
	var left trace
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &left) != nil {
		left = trace{}
	}
	if left.Attempt != c.info.Attempt-1 {
		left = trace{} // of an attempt before the last
	}
	if left.Size > 0 {
		if limit, refused := refusedForSize(ctx, c.client, c.info); refused {
			return failure.NewResultTooLarge(failure.SizeDetails{Server: c.server.Name, Tool: c.tool, Size: left.Size, Limit: limit})
		}
	}
	switch {
	case left.Unsent, int(c.info.Attempt) <= c.op.MaxSends:
		return nil
	case left.Size > 0:
		return c.refused(failure.ReasonForgotten, failure.RanYes,
			fmt.Sprintf("an earlier attempt had a result of %d bytes, which did not arrive and is not kept", left.Size))
	}
	return c.refused(failure.ReasonHostLost, failure.RanUnknown,
		"an earlier attempt has left no word whether it made the call, which may be made only once")
}

func (c *statelessCall) refused(reason failure.Reason, ran failure.ToolRan, message string) error {
	return failure.New(failure.TypeCall, message, failure.Details{
		Server: c.server.Name, Reason: reason, Tool: c.tool, ToolRan: ran, Host: c.host.identity(),
	}, nil)
}

// settled returns the failure of an attempt as it is reported, once what the next
// attempt needs to know is written down.
func (c *statelessCall) settled(ctx context.Context, value json.RawMessage, err error) error {
	switch {
	case err == nil && len(value) > minimumTooLarge:
		_ = c.leaveTrace(ctx, trace{Attempt: c.info.Attempt, Size: int64(len(value))})
	case err != nil && isRetryable(err) && !c.repeatable():
		if c.leaveTrace(ctx, trace{Attempt: c.info.Attempt, Unsent: true}) != nil {
			return asFinal(err) // the next attempt could not know
		}
	}
	return err
}

// leaveTrace writes a trace, and returns once the server has it.
func (c *statelessCall) leaveTrace(ctx context.Context, left trace) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	c.beats.Lock()
	defer c.beats.Unlock()
	c.leaves = []any{left}
	if err := c.beat(ctx); !acknowledged(err) {
		return err
	}
	return nil
}

// acknowledged reports whether the server has a heartbeat. A pause or a reset is what it
// says then of what is to come after this attempt.
func acknowledged(err error) bool {
	return err == nil || errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}

// beat sends one heartbeat, with what the attempt leaves, which nothing must take back.
// Without that it takes the trace of an earlier attempt away. The caller holds beats:
// one that overtakes another would bring an old trace back.
func (c *statelessCall) beat(ctx context.Context) error {
	sent := time.Now()
	err := c.client.RecordActivityHeartbeatWithOptions(ctx, client.RecordActivityHeartbeatOptions{
		TaskToken:    c.info.TaskToken,
		Details:      c.leaves,
		Namespace:    c.info.Namespace,
		WorkflowID:   c.info.WorkflowExecution.ID,
		WorkflowType: c.info.WorkflowType.Name,
		ActivityType: c.info.ActivityType.Name,
		TaskQueue:    c.info.TaskQueue,
	})
	if (acknowledged(err) || errors.As(err, new(*temporal.CanceledError))) && c.leaseLeft() > 0 {
		c.leased.Store(&sent)
	}
	return err
}

// leaseLeft is for how long the attempt can't have timed out for want of a heartbeat:
// for the heartbeat timeout from when the last acknowledged one was sent, by either
// clock, since one of them stands still while the machine does. After it another
// attempt may be under way.
func (c *statelessCall) leaseLeft() time.Duration {
	if c.info.HeartbeatTimeout <= 0 {
		return math.MaxInt64
	}
	leased, now := *c.leased.Load(), time.Now()
	return c.info.HeartbeatTimeout - max(now.Sub(leased), now.Round(0).Sub(leased.Round(0)))
}

// watchLease ends the attempt with its lease, until ctx is done: a host that is cut
// off from the Temporal server is told by nobody.
func (c *statelessCall) watchLease(ctx context.Context) {
	for left := c.leaseLeft(); left > 0; left = c.leaseLeft() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
	c.cancel(errLeaseLost)
}

var errLeaseLost = errors.New("no heartbeat of it was acknowledged within its heartbeat timeout")

var errNobodyWaits = errors.New("nobody waits for the call any more: its activity or its workflow is over")

// watch beats, and ends the request for the reasons that come from the Temporal
// side, until stop is called. The SDK's own heartbeats wait for so long that a
// cancel would come late.
func (c *statelessCall) watch(ctx context.Context) (stop func()) {
	beating, cancel := context.WithCancel(context.WithoutCancel(ctx))
	interval := cancelInterval
	if timeout := c.info.HeartbeatTimeout; timeout > 0 {
		interval = min(interval, timeout/3)
	}
	var watching sync.WaitGroup
	watching.Go(func() { c.watchLease(beating) })
	watching.Go(func() {
		next := time.NewTimer(interval)
		defer next.Stop()
		// It beats until all is over: what is cancelled may take a while to end.
		for evicting, done := c.evicting, ctx.Done(); ; {
			select {
			case <-beating.Done():
				return
			case <-evicting:
				evicting = nil
				c.cancel(errWorkerStopped)
			case <-done:
				done = nil
				c.cancel(causeOf(ctx))
			case <-next.C:
				if cause := c.beatOnce(beating); cause != nil {
					c.cancel(cause)
				}
				next.Reset(interval)
			}
		}
	})
	return func() { cancel(); watching.Wait() }
}

// causeOf is why the context of an activity is done. One without a plugin learns of
// the stop of its worker by this.
func causeOf(ctx context.Context) error {
	if temporal.IsCanceledError(context.Cause(ctx)) {
		return errCallCanceled
	}
	return errWorkerStopped
}

// beatOnce sends a heartbeat and returns why the request is to end, if it is.
func (c *statelessCall) beatOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	c.beats.Lock()
	defer c.beats.Unlock()
	err := c.beat(ctx)
	switch {
	case errors.As(err, new(*temporal.CanceledError)):
		return errCallCanceled
	case errors.As(err, new(*serviceerror.NotFound)):
		return errNobodyWaits
	case !acknowledged(err):
		c.doubt = time.Now() // there is another beat
	}
	return nil
}

// report returns what the attempt came to, or sends it itself: a cancel that the SDK
// did not notice, and what it would not send any more as its worker stops.
func (c *statelessCall) report(ctx context.Context, value json.RawMessage, err error) (*encoded, error) {
	var result *encoded
	if err == nil {
		result = &encoded{Value: &value}
	}
	if isClosed(c.stopping) || temporal.IsCanceledError(err) && ctx.Err() == nil {
		if reportErr := reportEnd(ctx, c.client, c.info, result, err); reportErr == nil {
			return nil, activity.ErrResultPending
		}
	}
	return result, err
}

func isRetryable(err error) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) && !application.NonRetryable()
}

// asFinal returns a failure of this package's as one that is not retried.
func asFinal(err error) error {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) {
		return err
	}
	d, ok := failure.Call(err)
	if !ok {
		d, ok = failure.Open(err)
	}
	if !ok {
		d, _ = failure.Script(err)
	}
	return temporal.NewApplicationErrorWithOptions(application.Message(), application.Type(),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{d}})
}
