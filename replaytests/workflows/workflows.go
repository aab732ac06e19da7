// Package workflows holds the workflows whose histories are recorded. A change of
// the commands that they, or package toolset, emit makes their histories fail to
// replay, as it would break the runs of users.
package workflows

import (
	"errors"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// Server is the name of the MCP server that the workflows use: one with the tools
// "incr" and "get" over a counter, and "exit", which ends it with a status.
const Server = "counter"

// All are the workflows by the name of their history.
var All = []struct {
	Name  string
	Shows string
	Run   func(ctx workflow.Context) error
}{
	{"completed", "a block that opens, lists, calls one by one and at once, and closes", Completed},
	{"lost", "a server that ends in a call, a call that is not scheduled after it, and a new block", Lost},
}

// Register registers all workflows under their names.
func Register(registry worker.WorkflowRegistry) {
	for _, w := range All {
		registry.RegisterWorkflowWithOptions(w.Run, workflow.RegisterOptions{Name: w.Name})
	}
}

// Completed uses all operations of a block.
func Completed(ctx workflow.Context) error {
	return toolset.With(ctx, toolset.Options{Server: Server}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if _, err := ts.ListTools(ctx); err != nil {
			return err
		}
		if _, err := ts.CallTool(ctx, "incr", nil); err != nil {
			return err
		}
		first, second := ts.CallToolAsync(ctx, "incr", nil), ts.CallToolAsync(ctx, "incr", nil)
		selector := workflow.NewSelector(ctx)
		var failed error
		for _, f := range []workflow.Future{first, second} {
			selector.AddFuture(f, func(f workflow.Future) { failed = errors.Join(failed, f.Get(ctx, nil)) })
		}
		selector.Select(ctx)
		selector.Select(ctx)
		if failed != nil {
			return failed
		}
		_, err := ts.CallTool(ctx, "get", nil)
		return err
	})
}

// Lost loses its session in a call and opens another.
func Lost(ctx workflow.Context) error {
	err := toolset.With(ctx, toolset.Options{Server: Server}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if _, err := ts.CallTool(ctx, "exit", map[string]any{"status": 3}); !failure.IsDedicatedWorker(err) {
			return errors.Join(errors.New("the call that ended the server told no loss"), err)
		}
		_, err := ts.CallTool(ctx, "get", nil)
		return err
	})
	if !failure.IsDedicatedWorker(err) {
		return errors.Join(errors.New("the block told no loss"), err)
	}
	return toolset.With(ctx, toolset.Options{Server: Server}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		_, err := ts.CallTool(ctx, "get", nil)
		return err
	})
}
