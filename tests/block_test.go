package tests

import (
	"fmt"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// The state of a block's session lives on from call to call. (C21)
func TestStateLivesOnBetweenCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got string, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for i := range 3 {
				n, err := call(ctx, ts, fixture.Incr, nil)
				if err != nil {
					return err
				}
				if n != fmt.Sprint(i+1) {
					return fmt.Errorf("incr %d returned %s", i+1, n)
				}
			}
			got, err = call(ctx, ts, fixture.Get, nil)
			return err
		})
		return got, err
	}, stdio("counter"))
	var got string
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got != "3" {
		t.Errorf("get returned %q, want 3", got)
	}
}
