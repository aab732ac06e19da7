package tests

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

// A Close that comes while another coroutine closes waits for that one: when it
// returns, the session has ended.
func TestCloseWaitsForAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) error {
		ts, err := toolset.Open(ctx, toolset.Options{Server: "counter"})
		if err != nil {
			return err
		}
		var begun, ended bool
		workflow.Go(ctx, func(ctx workflow.Context) {
			begun = true
			_ = ts.Close(ctx)
			ended = true
		})
		if err := workflow.Await(ctx, func() bool { return begun }); err != nil {
			return err
		}
		if ended {
			return errors.New("the first Close returned at once: nothing to wait for")
		}
		if err := ts.Close(ctx); err != nil {
			return err
		}
		if ended {
			return nil
		}
		// The other coroutine may run after this one in the same task, not later.
		info := workflow.GetInfo(ctx).GetCurrentHistoryLength()
		if err := workflow.Await(ctx, func() bool { return ended }); err != nil {
			return err
		}
		if workflow.GetInfo(ctx).GetCurrentHistoryLength() != info {
			return errors.New("the second Close returned before the first")
		}
		return nil
	}, stdio("counter"))
	if err := b.start().Get(b.ctx, nil); err != nil {
		t.Fatal(err)
	}
}
