package tests

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A block whose body is a loop over a selector: signals bring calls, which run side
// by side with the loop, and their results come as they are ready. All go to one
// session, each once.
func TestBlockInASelectorLoop(t *testing.T) {
	t.Parallel()
	const calls = 5
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	b.worker(worker.Options{}, func(ctx workflow.Context) (counts []string, err error) {
		err = toolset.With(ctx, b.options(longHeartbeat), func(ctx workflow.Context, ts *toolset.Toolset) error {
			var stopped bool
			var failed error
			pending := 0
			selector := workflow.NewSelector(ctx)
			selector.AddReceive(workflow.GetSignalChannel(ctx, "add"), func(c workflow.ReceiveChannel, _ bool) {
				var effect string
				c.Receive(ctx, &effect)
				pending++
				selector.AddFuture(ts.CallToolAsync(ctx, fixture.Append, fixture.AppendArguments{File: b.file("effects"), Line: effect}), func(f workflow.Future) {
					pending--
					if err := f.Get(ctx, nil); err != nil {
						failed = err
						return
					}
					count, err := call(ctx, ts, fixture.Incr, nil)
					counts, failed = append(counts, count), err
				})
			})
			selector.AddReceive(workflow.GetSignalChannel(ctx, "stop"), func(c workflow.ReceiveChannel, _ bool) {
				c.Receive(ctx, nil)
				stopped = true
			})
			selector.AddFuture(ts.Ended(ctx), func(f workflow.Future) { failed = f.Get(ctx, nil) })
			for failed == nil && (!stopped || pending > 0) {
				selector.Select(ctx)
			}
			return failed
		})
		return counts, err
	})
	run := b.begin(client.StartWorkflowOptions{})
	var want []string
	for i := range calls {
		want = append(want, fmt.Sprint(i+1))
		if err := b.client.SignalWorkflow(b.ctx, run.GetID(), "", "add", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.client.SignalWorkflow(b.ctx, run.GetID(), "", "stop", nil); err != nil {
		t.Fatal(err)
	}
	var counts []string
	if err := run.Get(b.ctx, &counts); err != nil {
		t.Fatal(err)
	}
	effects := slices.Sorted(slices.Values(b.lines(b.file("effects"))))
	if !slices.Equal(counts, want) || !slices.Equal(effects, []string{"0", "1", "2", "3", "4"}) {
		t.Errorf("the loop counted %q; the effects are %q", counts, effects)
	}
	b.wantConnects("here")
}

// Blocks in the coroutines of signals and in update handlers, some open at once,
// are sessions of their own, and close before the workflow that waits for its
// handlers ends.
func TestBlocksInHandlers(t *testing.T) {
	t.Parallel()
	const each = 2
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	all := newMeeting(2 * each)
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (visits []visit, err error) {
		block := func(ctx workflow.Context, increments int) error {
			return toolset.With(ctx, b.options(longHeartbeat), func(ctx workflow.Context, ts *toolset.Toolset) error {
				v, err := visitBlock(ctx, ts, increments, func() error { return await(ctx, "meet") })
				visits = append(visits, v)
				return err
			})
		}
		if err := workflow.SetUpdateHandler(ctx, "visit", block); err != nil {
			return nil, err
		}
		handled := workflow.NewWaitGroup(ctx)
		for range each {
			handled.Add(1)
			workflow.Go(ctx, func(ctx workflow.Context) {
				defer handled.Done()
				var increments int
				workflow.GetSignalChannel(ctx, "visit").Receive(ctx, &increments)
				if e := block(ctx, increments); e != nil {
					err = e
				}
			})
		}
		handled.Wait(ctx)
		return visits, errors.Join(err, workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }))
	})
	activityNamed(w, "meet", all.meet)
	run := b.begin(client.StartWorkflowOptions{})
	for range each {
		if err := b.client.SignalWorkflow(b.ctx, run.GetID(), "", "visit", 2); err != nil {
			t.Fatal(err)
		}
		if _, err := b.client.UpdateWorkflow(b.ctx, client.UpdateWorkflowOptions{
			WorkflowID: run.GetID(), UpdateName: "visit", Args: []any{2}, WaitForStage: client.WorkflowUpdateStageAccepted,
		}); err != nil {
			t.Fatal(err)
		}
	}
	var visits []visit
	if err := run.Get(b.ctx, &visits); err != nil {
		t.Fatal(err)
	}
	if len(visits) != 2*each {
		t.Fatalf("there were %d blocks", len(visits))
	}
	checkApart(t, visits...)
	checkCounts(t, visits, "2", "2", "2", "2")
	for _, v := range visits {
		if !exited(t, v.Pid) {
			t.Errorf("process %s is left", v.Pid)
		}
	}
}

// A parent ends, in one way or another, while its child is in a block: the child
// goes as its parent close policy says, and its session with it.
func TestParentOfABlockEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy enumspb.ParentClosePolicy
		status enumspb.WorkflowExecutionStatus
	}{
		"terminates it": {enumspb.PARENT_CLOSE_POLICY_TERMINATE, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED},
		"cancels it":    {enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			b.host(worker.Options{}, session.Options{})
			child := b.taskQueue + "-child"
			arguments := fixture.BlockArguments{Began: b.file("began"), Canceled: b.file("canceled")}
			w := b.worker(worker.Options{}, func(ctx workflow.Context) error {
				ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: child, ParentClosePolicy: tc.policy})
				workflow.ExecuteChildWorkflow(ctx, "child")
				return await(ctx, "the child is in its call")
			})
			w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
				return toolset.With(ctx, b.options(steadyHeartbeat), func(ctx workflow.Context, ts *toolset.Toolset) error {
					_, err := ts.CallTool(ctx, fixture.Block, arguments)
					return err
				})
			}, workflowOptions("child"))
			condition(w, "the child is in its call", func() bool { return len(b.lines(arguments.Began)) == 1 })
			if err := b.begin(client.StartWorkflowOptions{}).Get(b.ctx, nil); err != nil {
				t.Fatal(err)
			}
			b.awaitLines(arguments.Canceled, 1)
			b.eventually("the server is gone", func() bool { return len(b.processes()) == 0 })
			b.eventually("the child is over", func() bool {
				description, err := b.client.DescribeWorkflow(b.ctx, child, "")
				return err == nil && description.Status == tc.status
			})
			b.wantConnects("here")
		})
	}
}
