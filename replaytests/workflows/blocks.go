package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

var counter = toolset.Options{Server: Server}

// get is the smallest body of a block.
func get(ctx workflow.Context, ts *toolset.Toolset) error {
	_, err := ts.CallTool(ctx, "get", nil)
	return err
}

// Completed is a block as most are.
func Completed(ctx workflow.Context) error {
	return toolset.With(ctx, counter, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if _, err := ts.ListTools(ctx); err != nil {
			return err
		}
		if _, err := ts.CallTool(ctx, "incr", map[string]any{"by": 1}); err != nil {
			return err
		}
		return get(ctx, ts)
	})
}

// Open waits in its block.
func Open(ctx workflow.Context) error {
	return toolset.With(ctx, counter, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if _, err := ts.CallTool(ctx, "incr", nil); err != nil {
			return err
		}
		await(ctx)
		return get(ctx, ts)
	})
}

// await waits for the signal Go.
func await(ctx workflow.Context) { workflow.GetSignalChannel(ctx, Go).Receive(ctx, nil) }

// Sequence has two blocks.
func Sequence(ctx workflow.Context) error {
	for range 2 {
		if err := toolset.With(ctx, counter, get); err != nil {
			return err
		}
	}
	return nil
}

// Three has three blocks at once, used one after the other.
func Three(ctx workflow.Context) error {
	return toolset.WithAll(ctx, []toolset.Options{counter, counter, counter}, func(ctx workflow.Context, all []*toolset.Toolset) error {
		for _, ts := range all {
			if err := get(ctx, ts); err != nil {
				return err
			}
		}
		return nil
	})
}

// Concurrent calls three times before it waits for the first answer.
func Concurrent(ctx workflow.Context) error {
	return toolset.With(ctx, counter, func(ctx workflow.Context, ts *toolset.Toolset) error {
		var failed error
		var calls []workflow.Future
		for range 3 {
			calls = append(calls, ts.CallToolAsync(ctx, "incr", nil))
		}
		for _, call := range calls {
			failed = errors.Join(failed, call.Get(ctx, nil))
		}
		return failed
	})
}

// Child leaves the block to a child workflow.
func Child(ctx workflow.Context) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID + "-block"})
	return workflow.ExecuteChildWorkflow(ctx, ChildBlock).Get(ctx, nil)
}
