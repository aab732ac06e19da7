package replay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
	"github.com/mcpsession/mcpsession/toolset"
)

// changes are what a team may have done to its workflow since it was recorded.
type changes struct {
	greet     string
	pause     time.Duration
	child     string
	queue     string
	end       error
	noCleanup bool
}

var asRecorded = changes{greet: "team.greet", pause: 10 * time.Millisecond, child: "team-small"}

// team is a workflow that uses about all that workflows have, and a block.
func team(c changes) func(ctx workflow.Context) error {
	return func(ctx workflow.Context) error {
		options := workflow.ActivityOptions{StartToCloseTimeout: time.Minute, TaskQueue: c.queue}
		ctx = workflow.WithActivityOptions(ctx, options)
		if err := workflow.SetUpdateHandler(ctx, "again", func(ctx workflow.Context, name string) (greeting string, err error) {
			err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), c.greet, name).Get(ctx, &greeting)
			return greeting, err
		}); err != nil {
			return err
		}
		workflow.GetVersion(ctx, "first", workflow.DefaultVersion, 1)
		if err := workflow.SideEffect(ctx, func(workflow.Context) any { return 7 }).Get(new(int)); err != nil {
			return err
		}
		local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
		if err := workflow.ExecuteLocalActivity(local, greetHere, "you").Get(ctx, nil); err != nil {
			return err
		}
		if err := workflow.UpsertMemo(ctx, map[string]any{"team": "a"}); err != nil {
			return err
		}
		// All cancelled in the task that asks for them, or before.
		canceled, cancel := workflow.WithCancel(ctx)
		workflow.ExecuteActivity(canceled, c.greet, "nobody")
		workflow.NewTimer(canceled, time.Hour)
		cancel()
		workflow.ExecuteActivity(canceled, c.greet, "nobody either")
		if err := workflow.Sleep(ctx, c.pause); err != nil {
			return err
		}
		if err := workflow.ExecuteActivity(ctx, c.greet, "you").Get(ctx, nil); err != nil {
			return err
		}
		if err := workflow.ExecuteChildWorkflow(ctx, c.child, 1).Get(ctx, nil); err != nil {
			return err
		}
		if err := toolset.With(ctx, toolset.Options{Server: workflows.Server}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			if _, err := ts.CallTool(ctx, "incr", nil); err != nil {
				return err
			}
			goes := false
			workflow.Go(ctx, func(ctx workflow.Context) {
				workflow.GetSignalChannel(ctx, workflows.Go).Receive(ctx, nil)
				goes = true
			})
			_, err := workflow.AwaitWithTimeout(ctx, time.Hour, func() bool { return goes })
			return err
		}); err != nil {
			return err
		}
		if !c.noCleanup {
			if err := workflow.ExecuteActivity(ctx, c.greet, "everybody").Get(ctx, nil); err != nil {
				return err
			}
		}
		return c.end
	}
}

func greet(_ context.Context, name string) (string, error) { return "hello " + name, nil }

func greetHere(_ context.Context, name string) (string, error) { return "hi " + name, nil }

// registerTeam registers what a team has.
func registerTeam(c changes) func(worker.WorkflowRegistry) {
	return func(r worker.WorkflowRegistry) {
		r.RegisterWorkflowWithOptions(team(c), workflow.RegisterOptions{Name: "team"})
		for _, name := range []string{"team-small", "team-tiny"} {
			r.RegisterWorkflowWithOptions(func(workflow.Context, int) error { return nil }, workflow.RegisterOptions{Name: name})
		}
	}
}

// teamFolder runs the workflow on a server and records it, open and then completed,
// as a team would.
func teamFolder(t *testing.T) string {
	t.Helper()
	b := setup(t)
	plugged := b.worker("replaytests-team")
	registerTeam(asRecorded)(plugged)
	plugged.RegisterActivityWithOptions(greet, activityName("team.greet"))
	b.StartWorker(plugged)
	run, err := b.Client.ExecuteWorkflow(b.Ctx, client.StartWorkflowOptions{TaskQueue: "replaytests-team"}, "team")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "histories")
	b.awaitCalls(run, 1)
	update, err := b.Client.UpdateWorkflow(b.Ctx, client.UpdateWorkflowOptions{
		WorkflowID: run.GetID(), RunID: run.GetRunID(), UpdateName: "again", Args: []any{"me"}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := update.Get(b.Ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := replaytests.Record(b.Ctx, b.Client, run.GetID(), "", filepath.Join(folder, "open.json")); err != nil {
		t.Fatal(err)
	}
	if err := b.Client.SignalWorkflow(b.Ctx, run.GetID(), "", workflows.Go, nil); err != nil {
		t.Fatal(err)
	}
	b.awaitEnd(run)
	if err := replaytests.Record(b.Ctx, b.Client, run.GetID(), run.GetRunID(), filepath.Join(folder, "completed.json")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A team's own histories replay, whatever its workflow uses, and what it changes since
// is told by the event and by what the code wants instead.
func TestHarness(t *testing.T) {
	t.Parallel()
	folder := teamFolder(t)
	for _, exact := range []bool{false, true} {
		replaytests.Replay(t, folder, replaytests.Options{Register: registerTeam(asRecorded), Exact: exact})
	}

	for name, tc := range map[string]struct {
		change func(c *changes)
		exact  bool
		file   string
		wants  []string
	}{
		"an activity is renamed":               {func(c *changes) { c.greet = "team.welcome" }, false, "completed", []string{"recorded: activity team.greet", "wanted:   activity team.welcome"}},
		"its package is":                       {func(c *changes) { c.greet = "crew.greet" }, false, "completed", []string{"another activity type", "wanted:   activity crew.greet", "does not look"}},
		"the one of an update is, in open run": {func(c *changes) { c.greet = "crew.greet" }, false, "open", []string{"another activity type"}},
		"a timer is gone":                      {func(c *changes) { c.pause = 0 }, false, "completed", []string{"TimerStarted", "recorded: timer of 10ms", "wanted:   activity team.greet"}},
		"a timer is longer":                    {func(c *changes) { c.pause = time.Minute }, true, "completed", []string{"another duration", "timer of 1m0s"}},
		"the child is another":                 {func(c *changes) { c.child = "team-tiny" }, false, "completed", []string{"child workflow team-small", "child workflow team-tiny"}},
		"activities go to another queue":       {func(c *changes) { c.queue = "elsewhere" }, false, "completed", []string{"another task queue", "on elsewhere"}},
		"the last activity is gone":            {func(c *changes) { c.noCleanup = true }, false, "completed", []string{"recorded: activity team.greet", "wanted:   WorkflowExecutionCompleted"}},
		"it fails":                             {func(c *changes) { c.end = errors.New("no more") }, false, "completed", []string{"WorkflowExecutionCompleted", "wanted:   WorkflowExecutionFailed: no more"}},
	} {
		c := asRecorded
		tc.change(&c)
		h, err := replaytests.Read(filepath.Join(folder, tc.file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		err = h.Replay(replaytests.Options{Register: registerTeam(c), Exact: tc.exact})
		var difference *replaytests.Difference
		if !errors.As(err, &difference) {
			t.Errorf("%s: %v; want a Difference", name, err)
			continue
		}
		for _, want := range tc.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the message has no %q: %v", name, want, err)
			}
		}
	}
}

// A run that has not come to its first workflow task shows nothing, and one that
// nobody knows has no history.
func TestRecordRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := filepath.Join(t.TempDir(), "history.json")
	run, err := b.Client.ExecuteWorkflow(b.Ctx, client.StartWorkflowOptions{TaskQueue: "replaytests-nobody"}, "nobody")
	if err != nil {
		t.Fatal(err)
	}
	b.Cleanup(func() { _ = b.Client.TerminateWorkflow(b.Ctx, run.GetID(), "", "the test is over") })
	for id, want := range map[string]string{run.GetID(): "no workflow task was completed yet", "no-such-workflow": "no-such-workflow"} {
		if err := replaytests.Record(b.Ctx, b.Client, id, "", file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %q", id, err, want)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was written")
	}
}

// How a run ended is compared too, which the SDK does only for those that completed.
func TestEndsAreCompared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ends := map[string]error{
		"failed": errors.New("no"), "canceled": temporal.NewCanceledError(), "completed": nil,
	}
	register := func(name string, end error) func(worker.WorkflowRegistry) {
		return func(r worker.WorkflowRegistry) {
			r.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
				if name == "canceled" {
					ctx.Done().Receive(ctx, nil)
				}
				return end
			}, workflow.RegisterOptions{Name: "ends-" + name})
		}
	}
	w := b.worker("replaytests-ends")
	for name, end := range ends {
		register(name, end)(w)
	}
	b.StartWorker(w)
	for name := range ends {
		run, err := b.Client.ExecuteWorkflow(b.Ctx, client.StartWorkflowOptions{TaskQueue: "replaytests-ends"}, "ends-"+name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "canceled" {
			if err := b.Client.CancelWorkflow(b.Ctx, run.GetID(), ""); err != nil {
				t.Fatal(err)
			}
		}
		_ = run.Get(b.Ctx, nil)
		h, err := replaytests.Fetch(b.Ctx, b.Client, run.GetID(), "")
		if err != nil {
			t.Fatal(err)
		}
		for other, end := range ends {
			err := h.Replay(replaytests.Options{Register: register(name, end)})
			var difference *replaytests.Difference
			same := other == name || name == "failed" && other == "canceled" // uncancelled, that is a failure
			if same != (err == nil) || !same && !errors.As(err, &difference) {
				t.Errorf("one that %s, replayed with code that %s: %v", name, other, err)
			}
		}
	}
}
