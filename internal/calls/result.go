package calls

import (
	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
)

// Value returns the result of an operation. A session always has one; a replay of a
// history that the code no longer fits may give an operation the answer of another.
func Value[T any](server, tool string, result queue.Result[T]) (*T, error) {
	if result.Value == nil {
		return nil, failure.NewRetryable(failure.TypeCall, "the operation's answer has no result", failure.Details{
			Server: server, Reason: failure.ReasonNoAnswer, Tool: tool, ToolRan: failure.RanUnknown,
		}, nil)
	}
	return result.Value, nil
}
