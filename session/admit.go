package session

import (
	"go.temporal.io/sdk/activity"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
)

// admitInstance returns nil when an operation is for this very session. An error
// is final for the operation, whose tool has not run here.
func (b *block) admitInstance(info activity.Info, op queue.Operation, tool string) error {
	if err := b.admitBlock(info, op); err != nil {
		return err
	}
	if !isClosed(b.serving) {
		// An operation that knows an instance when none is served: the block had a
		// session before this attempt.
		b.say(heartbeat.HeardInstance)
	} else if op.Instance == b.instance {
		return nil
	}
	return b.refuse(info, op, "the operation is for another session than the one that is served here", tool)
}

// admitBlock returns nil when an operation is of this block and comes from the
// run that it says.
func (b *block) admitBlock(info activity.Info, op queue.Operation) error {
	input := b.attempt.input
	if op.RunID == input.RunID && op.Key == input.Key && info.WorkflowExecution.RunID == input.RunID {
		return nil
	}
	return b.refuse(info, op, "the operation is for another block than the one that is served here", "")
}

func (b *block) refuse(info activity.Info, op queue.Operation, message, tool string) error {
	d := b.attempt.details(failure.ReasonOtherInstance, "")
	d.Tool, d.ToolRan = tool, failure.RanNo
	if info.Attempt > 1 || info.WorkflowExecution.RunID != op.RunID {
		// An earlier attempt, or the one of the run before a workflow reset, may
		// have reached the session that it was for.
		d.ToolRan = failure.RanUnknown
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
