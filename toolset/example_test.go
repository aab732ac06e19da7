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

// A script of the worker's, on a session of its own: one activity, however many calls
// it makes. If its worker is lost, the workflow decides what that means.
func ExampleRunScript() {
	type input struct{ URLs []string }
	type page struct{ URL, Title, Fault string }
	_ = func(ctx workflow.Context) ([]page, error) {
		pages, err := toolset.RunScript[[]page](ctx, toolset.ScriptOptions{
			Server: "browser", Timeout: 5 * time.Minute,
		}, "titles", input{URLs: []string{"https://example.com"}})
		if failure.IsCall(err) && failure.RanOf(err) == failure.RanUnknown {
			// It has begun, and nobody knows how far it came.
			return nil, err
		}
		return pages, err
	}
}

// A script in an open block: it finds the page that the call before has opened.
func ExampleToolset_Run() {
	type form struct{ Name, Mail string }
	_ = func(ctx workflow.Context, browser *toolset.Toolset) error {
		if _, err := browser.CallTool(ctx, "browser_navigate", map[string]any{"url": "https://example.com"}); err != nil {
			return err
		}
		var receipt string
		quick := browser.WithOptions(toolset.Options{ScriptTimeout: time.Minute})
		return quick.Run(ctx, "fill-in", form{"Ada", "ada@example.com"}, &receipt)
	}
}
