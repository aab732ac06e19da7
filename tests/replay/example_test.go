package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Visit is the workflow of a team: the same as in the example of package replaytests.
func Visit(ctx workflow.Context) error {
	return toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, counter *toolset.Toolset) error {
		_, err := counter.CallTool(ctx, "incr", nil)
		return err
	})
}

// A run of a workflow is recorded once it has shown what it is to show. The file is
// for replaytests.Replay, in a test of the team's.
func Example_record() {
	options, err := server.ClientOptions()
	if err != nil {
		fmt.Println(err)
		return
	}
	options.Logger = fixture.Quiet
	c, err := client.Dial(options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name: "counter", Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return fixture.New() }),
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := worker.New(c, "visits", worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterWorkflow(Visit)
	if err := w.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer w.Stop()

	ctx := context.Background()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: "visits", ID: "a-visit"}, Visit)
	if err == nil {
		err = run.Get(ctx, nil)
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	folder, err := os.MkdirTemp("", "histories")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "visit.json")
	if err := replaytests.Record(ctx, c, "a-visit", run.GetRunID(), file); err != nil {
		fmt.Println(err)
		return
	}
	history, err := replaytests.Read(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(history.Replay(replaytests.Options{Register: func(r worker.WorkflowRegistry) { r.RegisterWorkflow(Visit) }}))
	// Output: <nil>
}

// The history of the example in package replaytests is one of Visit; with -record it
// is recorded again where it is missing.
func TestRecordVisit(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "replaytests", "testdata", "visits", "visit.json")
	b := setup(t)
	register := func(r worker.WorkflowRegistry) { r.RegisterWorkflow(Visit) }
	w := b.worker("visits-recorded")
	register(w)
	b.StartWorker(w)
	run, err := b.Client.ExecuteWorkflow(b.Ctx, client.StartWorkflowOptions{TaskQueue: "visits-recorded", ID: "replaytests-visit"}, Visit)
	if err != nil {
		t.Fatal(err)
	}
	b.awaitEnd(run)
	r := recording{workflows.Situation{Name: "visit", Shows: "a visit"}, b.fetch(run.GetID(), run.GetRunID())}
	if _, err := os.Stat(file); err != nil && b.records() {
		if err := r.stable(b, register, []recording{r}).Write(file); err != nil {
			t.Fatal(err)
		}
	}
	replaytests.Replay(t, filepath.Dir(file), replaytests.Options{Register: register, Exact: true})
}
