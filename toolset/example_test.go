package toolset_test

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// A workflow that asks one database session two things, the second about what the
// first has left there. If the session is lost, it tries once more on a new one.
func ExampleWith() {
	report := func(ctx workflow.Context) error {
		return toolset.With(ctx, toolset.Options{Server: "database"},
			func(ctx workflow.Context, db *toolset.Toolset) error {
				if _, err := db.CallTool(ctx, "execute", map[string]any{"sql": "CREATE TEMP TABLE t AS SELECT …"}); err != nil {
					return err
				}
				_, err := db.CallTool(ctx, "query", map[string]any{"sql": "SELECT count(*) FROM t"})
				return err
			})
	}
	_ = func(ctx workflow.Context) error {
		err := report(ctx)
		if failure.IsDedicatedWorker(err) {
			err = report(ctx)
		}
		return err
	}
}

// Calls that run at the same time, and a selector that takes whichever is first:
// a result, a deadline, or the loss of the session.
func ExampleToolset_CallToolAsync() {
	_ = func(ctx workflow.Context, browser *toolset.Toolset) (page *mcp.CallToolResult, err error) {
		workflow.NewSelector(ctx).
			AddFuture(browser.CallToolAsync(ctx, "browser_snapshot", nil), func(f workflow.Future) { err = f.Get(ctx, &page) }).
			AddFuture(workflow.NewTimer(ctx, time.Minute), func(workflow.Future) {}).
			AddFuture(browser.Ended(ctx), func(f workflow.Future) { err = f.Get(ctx, nil) }).
			Select(ctx)
		return page, err
	}
}
