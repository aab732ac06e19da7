package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
)

// A scriptAttempt is one attempt of a script on a session of its own:
//
//	1 find the script; read what earlier attempts left, decide whether it may begin
//	2 leave word that it has not begun
//	3 connect
//	4 leave word that it has begun, and see that the server has that
//	5 run it, in every case at most once
//	6 close the session, and wait for that; report
//
// What comes after an attempt that was lost goes by the last word: only one that says
// that the script has not begun lets it begin. In doubt it has.
type scriptAttempt struct {
	*statelessCall
	script *preparedScript
	slots  chan struct{} // nil without MaxConcurrentCalls
}

func (s *stateless) registerScripts(registry registry) {
	registry.RegisterActivityWithOptions(func(ctx context.Context, in queue.Stateless[queue.RunScript]) (*encoded, error) {
		a := &scriptAttempt{statelessCall: s.call(ctx, wishes{argument: in.Argument, connectTimeout: in.ConnectTimeout}, in.Operation.Operation, in.Operation.Script)}
		if n := a.server.MaxConcurrentCalls; n > 0 {
			a.slots = make(chan struct{}, n)
		}
		return a.operate(ctx, func(ctx context.Context) (_ json.RawMessage, err error) {
			if a.script, err = prepareScript(s.server.Name, in.Operation); err != nil {
				return nil, a.settled(ctx, nil, err)
			}
			return a.within(ctx, a.admit, a.run)
		})
	}, activity.RegisterOptions{Name: queue.StatelessActivity(s.server.Name, queue.OperationRunScript)})
}

// admit returns the failure of an attempt that must not begin the script.
func (a *scriptAttempt) admit(ctx context.Context) error {
	if a.repeatable() {
		return nil
	}
	if a.info.WorkflowExecution.RunID != a.op.RunID {
		return a.refused(failure.ReasonWorkflowReset, failure.RanUnknown,
			"the workflow was reset while the script was pending: the run before has begun it, or not")
	}
	var left trace
	switch {
	case activity.HasHeartbeatDetails(ctx):
		if activity.GetHeartbeatDetails(ctx, &left) != nil {
			left = trace{}
		}
	case a.info.Attempt == 1:
		ranBefore, err := heartbeat.RanBefore(a.ctx, func(ctx context.Context) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
			return describe(ctx, a.client, a.info)
		}, a.info)
		switch {
		case errors.Is(err, heartbeat.ErrDescribeDenied):
			return a.sessions().permanent(failure.ReasonDescribeDenied, err)
		case err != nil:
			return a.settled(ctx, nil, a.sessions().retryable(failure.ReasonMarker, err))
		}
		left.Unsent = !ranBefore
	}
	if left.Size > 0 {
		if limit, refused := refusedForSize(ctx, a.client, a.info); refused {
			return failure.NewResultTooLarge(failure.SizeDetails{Server: a.server.Name, Tool: a.tool, Size: left.Size, Limit: limit})
		}
	}
	switch {
	case left.Unsent:
	case left.Size > 0:
		return a.refused(failure.ReasonForgotten, failure.RanYes,
			fmt.Sprintf("an earlier attempt had a result of %d bytes, which did not arrive and is not kept", left.Size))
	case a.info.Attempt == 1:
		return a.refused(failure.ReasonReset, failure.RanUnknown,
			"an operator has reset the script's activity, and an earlier attempt may have begun the script, which may run only once")
	default:
		return a.refused(failure.ReasonHostLost, failure.RanUnknown,
			"an earlier attempt has begun the script, or has left no word of it, and it may run only once")
	}
	if err := a.leaveTrace(ctx, trace{Attempt: a.info.Attempt, Unsent: true}); err != nil {
		return a.settled(ctx, nil, a.sessions().retryable(failure.ReasonMarker, fmt.Errorf("the server did not acknowledge a heartbeat: %w", err)))
	}
	return nil
}

// sessions opens the session of the script: as the session of a block, it is one that
// keeps state between calls.
func (a *scriptAttempt) sessions() *opener {
	o := sessionOpener(a.server, a.argument, activity.GetLogger(a.ctx))
	o.warm = a.warm
	return o
}

// run opens the session, runs the script, and closes the session.
func (a *scriptAttempt) run() (json.RawMessage, error) {
	opener := a.sessions()
	l, err := a.pool.takeApart(a.ctx, opener.open)
	if err != nil {
		return nil, a.unopenedBy(opener, err)
	}
	a.lease = l
	defer func() { a.awaitClosed(a.pool.giveBackOwn(l)) }()
	if err := a.begin(); err != nil {
		return nil, err
	}
	stopWatching := a.watchServer()
	end := a.script.run(a.ctx, a)
	stopWatching()
	if err := a.cut(end); err != nil {
		activity.GetLogger(a.ctx).Warn("mcpsession: a script was ended", "script", a.tool, "server", a.server.Name, "cause", end.cause, "error", end.err)
		return nil, err
	}
	value, err := a.script.outcome(end)
	return value, a.again(err)
}

// begin leaves word that the script begins, and returns once the server has it. A
// heartbeat without an answer may be on its way still, and must not arrive after it: it
// says that the script has not begun.
func (a *scriptAttempt) begin() error {
	for {
		for wait := a.doubted(); wait > 0 && a.ctx.Err() == nil && !a.repeatable(); wait = a.doubted() {
			select {
			case <-time.After(wait):
			case <-a.ctx.Done():
			}
		}
		if a.ctx.Err() != nil {
			return a.unopenedBy(a.sessions(), context.Cause(a.ctx))
		}
		if a.repeatable() {
			return nil
		}
		if err := a.leaveTrace(a.ctx, trace{Attempt: a.info.Attempt}); err != nil {
			return a.sessions().retryable(failure.ReasonMarker,
				fmt.Errorf("the server did not acknowledge the heartbeat that says that the script begins: %w", err))
		}
		if a.doubted() <= 0 {
			return nil
		}
	}
}

// doubted is for how long a heartbeat that got no answer may still arrive: the server,
// too, gives up what took longer than its caller has waited.
func (a *scriptAttempt) doubted() time.Duration {
	a.beats.Lock()
	defer a.beats.Unlock()
	if a.doubt.IsZero() {
		return 0
	}
	return time.Until(a.doubt.Add(pingTimeout))
}

// cut is the failure of a script that was ended from outside; nil if it came to an end
// of its own.
func (a *scriptAttempt) cut(end scriptEnd) error {
	switch {
	case end.err == nil, end.cause == nil:
		return nil
	case errors.Is(end.cause, errCallCanceled):
		return temporal.NewCanceledError()
	case errors.Is(end.cause, errServerGone):
		if failure.IsCall(end.err) {
			return nil // the call that failed says more
		}
		return a.cutShort(errServerGone, a.tool, failure.RanUnknown)
	}
	reason, message := a.script.cut(end)
	return a.again(a.fail(message, failure.Details{Reason: reason, Tool: a.tool, ToolRan: failure.RanUnknown}))
}

// again returns the failure of a script that may be repeated as one that is tried
// again, if its session is what has failed.
func (a *scriptAttempt) again(err error) error {
	if err == nil || !a.repeatable() {
		return err
	}
	d, ok := failure.Call(err)
	if !ok || !passesElsewhere(d.Reason) {
		return err
	}
	return failure.NewRetryable(failure.TypeCall, fmt.Sprintf("script %q failed: %v", a.tool, err), d, nil)
}

// awaitClosed waits until the session's server is gone: who opens a new session meets
// no old one. It leaves the time to report the script's end.
func (a *scriptAttempt) awaitClosed(closed <-chan struct{}) {
	select {
	case <-closed:
	case <-time.After(time.Until(a.info.Deadline) / 2):
	}
}
