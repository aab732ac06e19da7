package tests

import (
	"slices"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A block that waits for a signal learns of the loss of its session without a
// call, and one that closes is told no loss.
func TestEndedSettlesWithTheSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (reasons []string, err error) {
		wait := func(ctx workflow.Context, ts *toolset.Toolset) error {
			var ended error
			workflow.NewSelector(ctx).
				AddReceive(workflow.GetSignalChannel(ctx, "never"), func(workflow.ReceiveChannel, bool) {}).
				AddFuture(ts.Ended(ctx), func(f workflow.Future) { ended = f.Get(ctx, nil) }).
				Select(ctx)
			d, _ := failure.DedicatedWorker(ended)
			reasons = append(reasons, string(d.Reason))
			return nil
		}
		lost := toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			// The server ends by itself, after it has answered.
			if _, err := ts.CallTool(ctx, fixture.ExitSoon, nil); err != nil {
				return err
			}
			return wait(ctx, ts)
		})
		if !failure.IsDedicatedWorker(lost) {
			return nil, lost
		}
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			done, settle := workflow.NewFuture(ctx)
			workflow.Go(ctx, func(ctx workflow.Context) { settle.SetError(wait(ctx, ts)) })
			if err := ts.Close(ctx); err != nil {
				return err
			}
			return done.Get(ctx, nil)
		})
		return reasons, err
	}, stdio("counter"))
	var reasons []string
	if err := b.start().Get(b.ctx, &reasons); err != nil {
		t.Fatal(err)
	}
	if want := []string{string(failure.ReasonServerGone), ""}; !slices.Equal(reasons, want) {
		t.Errorf("the block that lost its session and the one that closed were told %q, want %q", reasons, want)
	}
}
