package stateless

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
	payloadSizeError      = "payloadSizeError"
	activityNotRegistered = "ActivityNotRegisteredError"
)

// operationError returns the failure of an operation's activity as the caller gets
// it.
func (c *Client) operationError(err error, tool string) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	d := failure.Details{Server: c.settings.Server, Tool: tool, ToolRan: failure.RanUnknown}
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &timeout):
		return c.timeoutError(timeout, d)
	case errors.As(err, &application) && application.Type() == activityNotRegistered:
		d.Reason, d.ToolRan = failure.ReasonUnknownServer, failure.RanNo
		return failure.NewRetryable(failure.TypeOpen, fmt.Sprintf(
			"the worker that took the call knows no server of this name (it has no activity %s); register it there with session.NewPlugin, "+
				"or name in Options.TaskQueue where such workers poll",
			queue.StatelessActivity(c.settings.Server, queue.OperationCallTool)), d, err)
	case errors.As(err, &application) && application.Type() == payloadSizeError:
		// The retry policy left no attempt in which the worker could have said it.
		return failure.Rewrap(failure.NewResultTooLarge(failure.SizeDetails{Server: c.settings.Server, Tool: tool}))
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

// timeoutError is the failure of an activity of which the last thing known is a
// timeout. It does not wrap that: Temporal puts the failure of the attempt before it
// into it, which says of another attempt whether the tool ran.
func (c *Client) timeoutError(timeout *temporal.TimeoutError, d failure.Details) error {
	switch timeout.TimeoutType() {
	case enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		d.Reason, d.ToolRan = failure.ReasonNoHost, failure.RanNo
		return failure.NewRetryable(failure.TypeOpen, "no worker took the call within its ScheduleToStartTimeout; "+
			"is one running that polls the task queue and has the server in its session.NewPlugin?", d, nil)
	case enumspb.TIMEOUT_TYPE_HEARTBEAT:
		d.Reason = failure.ReasonHostLost
		return failure.NewRetryable(failure.TypeCall, "the worker that made the call is lost: it sent no heartbeat for the HeartbeatTimeout", d, nil)
	default:
		d.Reason = failure.ReasonActivityTimeout
		return failure.NewRetryable(failure.TypeCall, fmt.Sprintf("the %v timeout of the operation's activity passed", timeout.TimeoutType()), d, nil)
	}
}
