package toolset

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// loss returns the failure of an operation whose session has ended. Every way in
// which the session activity can end, other than by Close, is a loss.
func (ts *Toolset) loss(ctx workflow.Context, tool string, ran failure.ToolRan) error {
	err := ts.session.Get(ctx, nil)
	d, told := failure.DedicatedWorker(err)
	message := "the session is lost"
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case told:
		if errors.As(err, &application) {
			message = application.Message()
		}
	case errors.As(err, &timeout):
		d.Reason, message = timeoutReason(timeout.TimeoutType())
	case err == nil, temporal.IsCanceledError(err):
		d.Reason = failure.ReasonCanceled
		message = "the session is lost: its activity was ended by something other than this block"
	default:
		d.Reason = failure.ReasonHostLost
		message = fmt.Sprintf("the session is lost: its activity failed: %v", rootMessage(err))
	}
	if d.Host == "" {
		d.Attempt, d.Host, d.OpenedAt = ts.opened.Attempt, ts.opened.Host, ts.opened.OpenedAt
	}
	d.Server, d.Tool, d.ToolRan = ts.settings.Server, tool, ran
	lost := ts.asLoss(message, d, err, told)
	if ts.lost == nil {
		ts.lost = lost
	}
	return lost
}

// asLoss makes the failure. A message that the worker made is not described once
// more.
func (ts *Toolset) asLoss(message string, d failure.Details, cause error, told bool) error {
	if told {
		return temporal.NewApplicationErrorWithOptions(message, failure.TypeDedicatedWorker,
			temporal.ApplicationErrorOptions{Details: []any{d}, Cause: cause})
	}
	return failure.NewRetryable(failure.TypeDedicatedWorker, message, d, cause)
}

func timeoutReason(timeoutType enumspb.TimeoutType) (failure.Reason, string) {
	switch timeoutType {
	case enumspb.TIMEOUT_TYPE_HEARTBEAT:
		return failure.ReasonHostLost, "the session is lost: its host sent no heartbeat for the session's heartbeat timeout"
	case enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return failure.ReasonHostLost, "the session is lost: its host is gone, and no other worker came to say so"
	default:
		return failure.ReasonExpired, "the session is lost: the session activity's timeout passed"
	}
}

// openFailure returns the error of Open for what ended the session activity, or
// the question for its session, before it served.
func (ts *Toolset) openFailure(err error) error {
	server := ts.settings.Server
	d := failure.Details{Server: server, ToolRan: failure.RanNo}
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case failure.IsOpen(err):
		return failure.Rewrap(err)
	case temporal.IsCanceledError(err):
		return err
	case failure.IsDedicatedWorker(err):
		lost, _ := failure.DedicatedWorker(err)
		lost.ToolRan = failure.RanNo
		return failure.NewRetryable(failure.TypeOpen, "the session was lost before the block could use it", lost, err)
	case errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		d.Reason = failure.ReasonNoHost
		return failure.NewRetryable(failure.TypeOpen, fmt.Sprintf(
			"no worker took the session from task queue %q within %v; is one running that polls it and has the server in its session.NewPlugin? "+
				"Options.Session.TaskQueue names another queue, ScheduleToStartTimeout another time",
			ts.hosts, ts.settings.Session.ScheduleToStartTimeout), d, err)
	case errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT && mayHaveOpened(timeout):
		// A session may have been open. What is lost is told as a loss, too.
		var message string
		d.Reason, message = timeoutReason(timeout.TimeoutType())
		var marker heartbeat.Marker
		var author heartbeat.Author
		if timeout.LastHeartbeatDetails(&marker, &author) == nil {
			d.Attempt, d.Host, d.OpenedAt = author.Attempt, author.Host, author.At
		}
		lost := failure.NewRetryable(failure.TypeDedicatedWorker, message, d, err)
		return failure.NewRetryable(failure.TypeOpen, "the session was lost before the block could use it", d, lost)
	case errors.As(err, &timeout):
		d.Reason = failure.ReasonOpenTimeout
		if timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT {
			d.Reason = failure.ReasonHostLost
		}
		return failure.NewRetryable(failure.TypeOpen, "the session activity timed out before its session served", d, err)
	case errors.As(err, &application) && application.Type() == calls.ActivityNotRegistered:
		d.Reason = failure.ReasonUnknownServer
		return failure.NewRetryable(failure.TypeOpen, fmt.Sprintf(
			"the worker that took the session knows no server of this name (it has no activity %s); register it there with session.NewPlugin (in a unit test, with toolsettest.New)",
			queue.SessionActivity(server)), d, err)
	case errors.As(err, &application) && application.Type() == calls.PayloadSizeError:
		d.Reason = failure.ReasonConnect
		return failure.NewRetryable(failure.TypeOpen,
			"the server's answer to the MCP handshake, with its instructions, is larger than a Temporal payload may be", d, err)
	case err == nil:
		d.Reason = failure.ReasonConnect
		return failure.NewRetryable(failure.TypeOpen, "the session activity ended before its session served", d, nil)
	}
	d.Reason = failure.ReasonConnect
	return failure.NewRetryable(failure.TypeOpen, "the session could not be opened: "+rootMessage(err), d, err)
}

// operationError returns an operation's own failure as the caller gets it, and
// takes note of one that says that the session is lost.
func (ts *Toolset) operationError(err error, tool string) error {
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	d := failure.Details{Server: ts.settings.Server, Tool: tool, ToolRan: failure.RanUnknown}
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case failure.IsScript(err):
		return failure.OfScript(err) // whatever the script's own error is
	case failure.IsDedicatedWorker(err):
		err = failure.Rewrap(err)
		if ts.lost == nil {
			ts.lost = err
		}
		return err
	case errors.As(err, &timeout):
		d.Reason = failure.ReasonActivityTimeout
		return failure.NewRetryable(failure.TypeCall, fmt.Sprintf("the operation's %v timeout passed", timeout.TimeoutType()), d, err)
	case errors.As(err, &application) && application.Type() == calls.PayloadSizeError:
		// The retry policy left no attempt in which the session could have said it.
		return failure.Rewrap(failure.NewResultTooLarge(failure.SizeDetails{Server: ts.settings.Server, Tool: tool}))
	}
	if rewrapped := failure.Rewrap(err); rewrapped != err {
		return rewrapped
	}
	d.Reason = failure.ReasonNoAnswer
	return failure.NewRetryable(failure.TypeCall, "the operation failed: "+rootMessage(err), d, err)
}

// rootMessage returns what the innermost error says.
func rootMessage(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			break
		}
		err = next
	}
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	return err.Error()
}
