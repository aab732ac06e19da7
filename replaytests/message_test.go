package replaytests_test

import (
	"errors"
	"strings"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
	"github.com/mcpsession/mcpsession/toolset"
)

// replayBlock replays the history of a completed block against another body of it,
// and returns the difference.
func replayBlock(t *testing.T, body func(ctx workflow.Context, ts *toolset.Toolset) error) *replaytests.Difference {
	t.Helper()
	err := read(t, "completed").Replay(replaytests.Options{Register: func(r worker.WorkflowRegistry) {
		r.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
			return toolset.With(ctx, toolset.Options{Server: workflows.Server}, body)
		}, workflow.RegisterOptions{Name: "completed"})
	}})
	var d *replaytests.Difference
	if !errors.As(err, &d) {
		t.Fatalf("%v is no difference", err)
	}
	return d
}

// What differs in an input is named, with both: it stands far back in a long line.
func TestDifferenceNamesTheField(t *testing.T) {
	t.Parallel()
	d := replayBlock(t, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if _, err := ts.ListTools(ctx); err != nil {
			return err
		}
		_, err := ts.CallTool(ctx, "incr", map[string]any{"by": 2})
		return err
	})
	if want := `(another arguments: recorded {"by":1}, wanted {"by":2})`; !strings.Contains(d.Message, want) {
		t.Errorf("%q is not in: %s", want, d.Message)
	}
}

// A workflow that gets the answer to something else, and panics of it, is not told as
// a fault of the SDK; and what has no result is an error to it.
func TestDifferenceComesBeforeAPanic(t *testing.T) {
	t.Parallel()
	var told error
	d := replayBlock(t, func(ctx workflow.Context, ts *toolset.Toolset) error {
		for range 4 {
			result, err := ts.CallTool(ctx, "get", nil)
			if err != nil {
				told = err
				panic("lost")
			}
			_ = result.Content
		}
		return nil
	})
	if d.EventID == 0 || !strings.Contains(d.Message, "after it the workflow failed") || strings.Contains(d.Message, "the SDK:") {
		t.Errorf("the message is: %s", d.Message)
	}
	if told == nil || !strings.Contains(told.Error(), "no result") {
		t.Errorf("the call has the error %v", told)
	}
}
