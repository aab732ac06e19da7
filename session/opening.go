package session

import (
	"context"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
)

// announce writes may-be-open, waits until the server shows it, and asks once
// more whether this attempt may open.
func (a *attempt) announce(facts heartbeat.Facts) error {
	ctx, cancel := context.WithTimeout(a.block.ctx, confirmTimeout)
	defer cancel()
	if err := a.writer.Mark(ctx, heartbeat.MayBeOpen); err != nil {
		a.clear()
		return a.retryable(failure.ReasonMarker, fmt.Errorf("the server did not acknowledge the may-be-open marker: %w", err))
	}
	ranBefore, err := a.confirm(ctx)
	if err != nil {
		return err
	}
	facts.RanBefore = ranBefore
	verdict := heartbeat.Decide(facts)
	if verdict.Decision == heartbeat.Listen {
		if err := a.block.listen(); err != nil {
			a.clear()
			return a.retryable(failure.ReasonDedicatedWorker, err)
		}
		facts.Heard = a.block.hear(listenTimeout)
		if e := a.block.ending(); e != nil {
			// What was not heard meanwhile means nothing.
			a.clear()
			return a.retryable(failure.ReasonConnect, e)
		}
		// It listened for a while, in which the server may have come to have another
		// attempt, or another's marker.
		if facts.Heard == heartbeat.HeardInfo {
			ctx, cancel := context.WithTimeout(a.block.ctx, confirmTimeout)
			defer cancel()
			if _, err := a.confirm(ctx); err != nil {
				return err
			}
		}
		verdict = heartbeat.Decide(facts)
	}
	if verdict.Decision != heartbeat.Open {
		return a.refused(verdict, facts.Past)
	}
	// A host that was paused may come here before its own timers have fired.
	a.checkOwner()
	if e := a.block.ending(); e != nil {
		a.clear()
		return a.retryable(failure.ReasonConnect, e)
	}
	a.leaves = heartbeat.Cleared
	return nil
}

// confirm waits until the server shows may-be-open as this attempt's marker, and
// reports whether the activity had run before. With an error the marker is cleared.
func (a *attempt) confirm(ctx context.Context) (ranBefore bool, err error) {
	var shown *workflowservice.DescribeWorkflowExecutionResponse
	ranBefore, err = heartbeat.Confirm(ctx, func(ctx context.Context) (_ *workflowservice.DescribeWorkflowExecutionResponse, err error) {
		shown, err = a.describe(ctx)
		return shown, err
	}, a.info, heartbeat.MayBeOpen)
	switch {
	case errors.Is(err, heartbeat.ErrDescribeDenied):
		a.clear()
		return false, a.openFailure(failure.ReasonDescribeDenied, err)
	case err != nil:
		a.clear()
		return false, a.retryable(failure.ReasonMarker, err)
	}
	a.learnHost(shown)
	return ranBefore, nil
}

// learnHost takes the host's name from what the server shows: a worker without an
// identity of its own has its client's, which nothing here tells.
func (a *attempt) learnHost(shown *workflowservice.DescribeWorkflowExecutionResponse) {
	for _, pending := range shown.GetPendingActivities() {
		if name := pending.GetLastWorkerIdentity(); name != "" && pending.GetActivityId() == a.info.ActivityID {
			a.author.Host = name
			a.writer.SetHost(name)
		}
	}
}

// describe reads the attempt's workflow execution.
func (a *attempt) describe(ctx context.Context) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return describe(ctx, a.client, a.info)
}

// describe reads the workflow execution of an activity.
func describe(ctx context.Context, c client.Client, info activity.Info) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return c.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: info.Namespace,
		Execution: &commonpb.WorkflowExecution{WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID},
	})
}

func (a *attempt) mark(marker heartbeat.Marker) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.block.ctx), min(confirmTimeout, a.info.HeartbeatTimeout))
	defer cancel()
	return a.writer.Mark(ctx, marker)
}

// clear takes the may-be-open marker back. When it can't, the next attempt is
// refused: a needless loss is better than a second session. An attempt that was not
// let open has found out nothing for the next, and leaves what it found itself.
func (a *attempt) clear() { _ = a.mark(a.leaves) }

// ended returns err, unless the attempt was ended from outside meanwhile, which
// then says more.
func (a *attempt) ended(err error) error {
	if e := a.block.ending(); e != nil && e.kind != endLost {
		return e.err(a)
	}
	if e := a.block.ending(); e != nil && !failure.IsDedicatedWorker(err) {
		// No session was open, so nothing is lost: another attempt may open one.
		return a.retryable(failure.ReasonConnect, e)
	}
	return err
}
