package session

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
)

// admitInstance returns nil when an operation is for this very session. An error
// is final for the operation, whose tool has not run here.
func (b *block) admitInstance(ctx context.Context, info activity.Info, op queue.Operation, tool string) error {
	if err := b.admitBlock(ctx, info, op, tool); err != nil {
		return err
	}
	if !isClosed(b.serving) {
		// An operation that knows an instance when none is served: the block had a
		// session before this attempt.
		b.say(heartbeat.HeardInstance)
	} else if op.Instance == b.instance {
		return nil
	}
	return b.refuse(ctx, info, op, "the operation is for another session than the one that is served here", tool)
}

// admitBlock returns nil when an operation is of this block and comes from the
// run that it says.
func (b *block) admitBlock(ctx context.Context, info activity.Info, op queue.Operation, tool string) error {
	input := b.attempt.input
	if op.RunID == input.RunID && op.Key == input.Key && info.WorkflowExecution.RunID == input.RunID {
		return nil
	}
	return b.refuse(ctx, info, op, "the operation is for another block than the one that is served here", tool)
}

func (b *block) refuse(ctx context.Context, info activity.Info, op queue.Operation, message, tool string) error {
	d := b.attempt.details(failure.ReasonOtherInstance, "")
	d.Tool, d.ToolRan = tool, failure.RanUnknown
	// An earlier attempt, or the one of the run before a workflow reset, may have
	// reached the session that it was for. The attempt's number does not tell: an
	// operator's reset sets it back.
	if info.Attempt == 1 && info.WorkflowExecution.RunID == op.RunID {
		if ranBefore, err := heartbeat.RanBefore(ctx, b.attempt.describe, info); err == nil && !ranBefore {
			d.ToolRan = failure.RanNo
		}
	}
	return failure.New(failure.TypeDedicatedWorker, message, d, nil)
}

// say tells an attempt that listens what came; only the first word counts.
func (b *block) say(heard heartbeat.Heard) {
	select {
	case b.heard <- heard:
	default:
	}
}
