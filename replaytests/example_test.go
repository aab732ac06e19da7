package replaytests_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/toolset"
)

// Visit is the workflow of a team.
func Visit(ctx workflow.Context) error {
	return toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, counter *toolset.Toolset) error {
		_, err := counter.CallTool(ctx, "incr", nil)
		return err
	})
}

// What the team has in its tests: the folder's histories were recorded by
// replaytests.Record.
func TestVisitReplays(t *testing.T) {
	t.Parallel()
	replaytests.Replay(t, "testdata/visits", replaytests.Options{
		Register: func(r worker.WorkflowRegistry) { r.RegisterWorkflow(Visit) },
	})
}

// VisitLater is what became of Visit: it sleeps first, so a run that has opened its
// block, and did not sleep, can't go on with it.
func VisitLater(ctx workflow.Context) error {
	if err := workflow.Sleep(ctx, time.Hour); err != nil {
		return err
	}
	return Visit(ctx)
}

func ExampleHistory_Replay() {
	history, err := replaytests.Read("testdata/visits/visit.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = history.Replay(replaytests.Options{Register: func(r worker.WorkflowRegistry) {
		r.RegisterWorkflowWithOptions(VisitLater, workflow.RegisterOptions{Name: "Visit"})
	}})
	var difference *replaytests.Difference
	if errors.As(err, &difference) {
		recorded, _, _ := strings.Cut(difference.Recorded, ",")
		fmt.Printf("event %d\nrecorded: %s\nwanted: %s\n", difference.EventID, recorded, difference.Wanted)
	}
	// Output:
	// event 5
	// recorded: activity mcp.counter.session on visits-recorded
	// wanted: timer of 1h0m0s
}
