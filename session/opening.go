package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/transport"
)

// connector runs the user's connector. One that panics fails this attempt and
// not the worker, and one that does not heed its context is left behind: it holds
// nothing yet.
func (a *attempt) connector() (carrier, error) {
	ctx, cancel := context.WithTimeoutCause(a.block.ctx, a.server.ConnectTimeout, errConnectorTimeout)
	defer cancel()
	type built struct {
		transport mcp.Transport
		err       error
	}
	done := make(chan built, 1)
	go func() {
		var b built
		defer func() {
			if p := recover(); p != nil {
				b.err = fmt.Errorf("the connector panicked: %v", p)
			}
			done <- b
		}()
		b.transport, b.err = a.server.Connect(ctx, transport.Argument(a.input.Argument))
	}()
	select {
	case <-ctx.Done():
		return carrier{}, context.Cause(ctx)
	case b := <-done:
		if b.err == nil && b.transport == nil {
			b.err = transport.Permanent(string(failure.ReasonConnect), errors.New("the connector returned a nil transport and no error"))
		}
		if cause := context.Cause(ctx); b.err != nil && cause != nil && !errors.As(b.err, new(*transport.PermanentError)) {
			// It says only that its context is done.
			b.err = cause
		}
		if b.err != nil {
			return carrier{}, b.err
		}
		return newCarrier(b.transport), nil
	}
}

// announce writes may-be-open, waits until the server shows it, and asks once
// more whether this attempt may open.
func (a *attempt) announce(facts heartbeat.Facts) error {
	ctx, cancel := context.WithTimeout(a.block.ctx, confirmTimeout)
	defer cancel()
	if err := a.writer.Mark(ctx, heartbeat.MayBeOpen); err != nil {
		a.clear()
		return a.retryable(failure.ReasonMarker, fmt.Errorf("the server did not acknowledge the may-be-open marker: %w", err))
	}
	var shown *workflowservice.DescribeWorkflowExecutionResponse
	ranBefore, err := heartbeat.Confirm(ctx, func(ctx context.Context) (_ *workflowservice.DescribeWorkflowExecutionResponse, err error) {
		shown, err = a.describe(ctx)
		return shown, err
	}, a.info, heartbeat.MayBeOpen)
	if err != nil {
		a.clear()
		if errors.Is(err, heartbeat.ErrDescribeDenied) {
			return a.openFailure(failure.ReasonDescribeDenied, err)
		}
		return a.retryable(failure.ReasonMarker, err)
	}
	a.learnHost(shown)
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
		verdict = heartbeat.Decide(facts)
	}
	if verdict.Decision == heartbeat.Open {
		return nil
	}
	return a.refused(verdict, facts.Past)
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
	return a.client.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: a.info.Namespace,
		Execution: &commonpb.WorkflowExecution{WorkflowId: a.info.WorkflowExecution.ID, RunId: a.info.WorkflowExecution.RunID},
	})
}

func (a *attempt) mark(marker heartbeat.Marker) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.block.ctx), min(confirmTimeout, a.info.HeartbeatTimeout))
	defer cancel()
	return a.writer.Mark(ctx, marker)
}

// clear takes the may-be-open marker back. When it can't, the next attempt is
// refused: a needless loss is better than a second session.
func (a *attempt) clear() { _ = a.mark(heartbeat.Cleared) }

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
