package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

// Selector waits for a call or for a timer.
func Selector(ctx workflow.Context) error {
	return toolset.With(ctx, counter, func(ctx workflow.Context, ts *toolset.Toolset) error {
		timerCtx, cancel := workflow.WithCancel(ctx)
		timer := workflow.NewTimer(timerCtx, time.Hour)
		var failed error
		workflow.NewSelector(ctx).
			AddFuture(ts.CallToolAsync(ctx, "incr", nil), func(f workflow.Future) { failed = f.Get(ctx, nil) }).
			AddFuture(timer, func(workflow.Future) { failed = unexpected("the timer was faster", nil) }).
			Select(ctx)
		cancel()
		return failed
	})
}

// Canceled is cancelled in its block, and uses it once more.
func Canceled(ctx workflow.Context) error {
	return toolset.With(ctx, counter, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if err := get(ctx, ts); err != nil {
			return err
		}
		ctx.Done().Receive(ctx, nil)
		disconnected, _ := workflow.NewDisconnectedContext(ctx)
		if err := get(disconnected, ts); err != nil {
			return err
		}
		return temporal.NewCanceledError()
	})
}
