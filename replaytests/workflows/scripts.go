package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/toolset"
)

// The scripts that the workflows run.
const (
	// CountScript calls "incr" as often as its input says, and returns the count.
	CountScript = "count"
	// RefusingScript makes a call and returns an application error of this type.
	RefusingScript = "refuse"
)

// Script runs one in a block, between calls.
func Script(ctx workflow.Context) error {
	return toolset.With(ctx, counter, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if _, err := ts.CallTool(ctx, "incr", nil); err != nil {
			return err
		}
		var count int
		if err := ts.Run(ctx, CountScript, 3, &count); err != nil {
			return err
		}
		if count != 4 {
			return errors.New("the script did not run on the block's session")
		}
		return get(ctx, ts)
	})
}

// ScriptOfItsOwn runs scripts on sessions of their own; one has an error.
func ScriptOfItsOwn(ctx workflow.Context) error {
	options := toolset.ScriptOptions{Server: Server}
	if _, err := toolset.RunScript[int](ctx, options, CountScript, 3); err != nil {
		return err
	}
	_, err := toolset.RunScript[int](ctx, options, RefusingScript, nil)
	if err == nil || failure.IsCall(err) || failure.IsOpen(err) {
		return unexpected("the script did not refuse", err)
	}
	_, err = toolset.RunScript[int](ctx, toolset.ScriptOptions{Server: Missing}, CountScript, 3)
	if !failure.IsOpen(err) {
		return unexpected("the session of a script opened", err)
	}
	return nil
}

// SingleCall makes one call on a connection of its own.
func SingleCall(ctx workflow.Context) error {
	_, err := stateless.CallOnce[string](ctx, stateless.Options{Server: Stateless}, "get", nil)
	return err
}
