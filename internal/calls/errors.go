package calls

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
)

// The types of errors that the SDK makes itself.
const (
	PayloadSizeError      = "payloadSizeError"
	ActivityNotRegistered = "ActivityNotRegisteredError"
)

// An Own is an operation that has an activity of its own, and no block: a stateless
// call, or a script with a session of its own.
type Own struct {
	Server    string
	Operation queue.OperationName
	Tool      string // or the script
	What      string // the word for it: a call, or a script
}

// Failure returns the failure of the operation's activity as the caller gets it.
func (o Own) Failure(err error) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	d := failure.Details{Server: o.Server, Tool: o.Tool, ToolRan: failure.RanUnknown}
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &timeout):
		return o.timeout(timeout, d)
	case errors.As(err, &application) && application.Type() == ActivityNotRegistered:
		d.Reason, d.ToolRan = failure.ReasonUnknownServer, failure.RanNo
		return failure.NewRetryable(failure.TypeOpen, fmt.Sprintf(
			"the worker that took the %s knows no server of this name (it has no activity %s); register it there with session.NewPlugin (in a unit test, with toolsettest.New), "+
				"or name in Options.TaskQueue where such workers poll",
			o.What, queue.StatelessActivity(o.Server, o.Operation)), d, err)
	case errors.As(err, &application) && application.Type() == PayloadSizeError:
		// The retry policy left no attempt in which the worker could have said it.
		return failure.Rewrap(failure.NewResultTooLarge(failure.SizeDetails{Server: o.Server, Tool: o.Tool}))
	case errors.As(err, &application) && application.Type() == failure.TypeScript:
		return failure.OfScript(err)
	}
	if rewrapped := failure.Rewrap(err); rewrapped != err {
		return rewrapped
	}
	d.Reason = failure.ReasonNoAnswer
	message := "the operation failed"
	if errors.As(err, &application) {
		message += ": " + application.Message()
	}
	return failure.NewRetryable(failure.TypeCall, message, d, err)
}

// timeout is the failure of an activity of which the last thing known is a timeout. It
// does not wrap that: Temporal puts the failure of the attempt before it into it, which
// says of another attempt whether the tool ran.
func (o Own) timeout(timeout *temporal.TimeoutError, d failure.Details) error {
	// Only scripts leave word of their beginning before they begin.
	unsent := o.Operation == queue.OperationRunScript && Unbegun(timeout)
	switch timeout.TimeoutType() {
	case enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		d.Reason = failure.ReasonNoHost
		if before := timeout.Unwrap(); before != nil && !(Unbegun(timeout) && (unsent || failure.RanOf(before) == failure.RanNo)) {
			// The SDK itself fails the attempts of a worker that stops, as ones to retry.
			return failure.NewRetryable(failure.TypeCall, fmt.Sprintf("no worker took the %s again within its ScheduleToStartTimeout, "+
				"after an attempt that has left no word that it did not begin", o.What), d, nil)
		}
		d.ToolRan = failure.RanNo
		return failure.NewRetryable(failure.TypeOpen, fmt.Sprintf("no worker took the %s within its ScheduleToStartTimeout; "+
			"is one running that polls the task queue and has the server in its session.NewPlugin?", o.What), d, nil)
	case enumspb.TIMEOUT_TYPE_HEARTBEAT:
		d.Reason = failure.ReasonHostLost
		if unsent {
			d.ToolRan = failure.RanNo
			return failure.NewRetryable(failure.TypeOpen, fmt.Sprintf(
				"the worker of the %s is lost, and had not begun it: it sent no heartbeat for the HeartbeatTimeout", o.What), d, nil)
		}
		return failure.NewRetryable(failure.TypeCall, fmt.Sprintf(
			"the worker of the %s is lost: it sent no heartbeat for the HeartbeatTimeout", o.What), d, nil)
	}
	if unsent {
		d.Reason, d.ToolRan = failure.ReasonOpenTimeout, failure.RanNo
		return failure.NewRetryable(failure.TypeOpen, fmt.Sprintf(
			"the %v timeout of the operation's activity passed before the %s began", timeout.TimeoutType(), o.What), d, nil)
	}
	d.Reason = failure.ReasonActivityTimeout
	return failure.NewRetryable(failure.TypeCall, fmt.Sprintf("the %v timeout of the operation's activity passed", timeout.TimeoutType()), d, nil)
}

// Unbegun reports whether the attempt of a script that a timeout has ended has left
// word that the script had not begun.
func Unbegun(timeout *temporal.TimeoutError) bool {
	var left queue.Trace
	return timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&left) == nil && left.Unsent
}
