package tests

import (
	"fmt"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A visit is what one block saw of its session.
type visit struct {
	RunID string
	Info  toolset.Info
	Pid   string
	Count string
}

// visitBlock adds to the counter of a block's server, with midway in the middle,
// where others may come in between.
func visitBlock(ctx workflow.Context, ts *toolset.Toolset, increments int, midway func() error) (visit, error) {
	v := visit{RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID, Info: ts.Info()}
	var err error
	if v.Pid, err = call(ctx, ts, fixture.Pid, nil); err != nil {
		return v, err
	}
	for i := range increments {
		if i == increments/2 && midway != nil {
			if err := midway(); err != nil {
				return v, err
			}
		}
		if _, err := call(ctx, ts, fixture.Incr, nil); err != nil {
			return v, err
		}
	}
	v.Count, err = call(ctx, ts, fixture.Get, nil)
	return v, err
}

// checkApart fails the test unless every visit had a session that no other had.
func checkApart(t *testing.T, visits ...visit) {
	t.Helper()
	seen := make(map[string]int)
	for i, v := range visits {
		server, runID, key, ok := queue.Parse(v.Info.TaskQueue)
		if !ok || server != v.Info.Server || runID != v.RunID || key == "" {
			t.Errorf("block %d: task queue %q is not one of server %s and run %s", i, v.Info.TaskQueue, v.Info.Server, v.RunID)
		}
		if v.Info.Instance == "" || v.Pid == "" {
			t.Errorf("block %d: instance %q, process %q", i, v.Info.Instance, v.Pid)
		}
		for _, own := range []string{"instance " + v.Info.Instance, "process " + v.Pid, "key " + key} {
			if other, taken := seen[own]; taken {
				t.Errorf("blocks %d and %d have the same %s", other, i, own)
			}
			seen[own] = i
		}
	}
}

func checkCounts(t *testing.T, visits []visit, want ...string) {
	t.Helper()
	for i, v := range visits {
		if v.Count != want[i] {
			t.Errorf("block %d: the counter is %s, want %s: another block's calls were counted, or some were not", i, v.Count, want[i])
		}
	}
}

// Two runs of one workflow that use the same server at the same time have a
// process, a queue and a counter each.
func TestTwoRunsAtOnceAreApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	both := newMeeting(2)
	w := b.worker(worker.Options{}, func(ctx workflow.Context, increments int) (v visit, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			v, err = visitBlock(ctx, ts, increments, func() error {
				return await(ctx, "meet")
			})
			return err
		})
		return v, err
	}, stdio("counter"))
	activityNamed(w, "meet", both.meet)

	visits := make([]visit, 2)
	runs := make([]client.WorkflowRun, 2)
	for i := range runs {
		runs[i] = b.startAs(fmt.Sprintf("%s-%d", b.taskQueue, i), 2+i)
	}
	for i, run := range runs {
		if err := run.Get(b.ctx, &visits[i]); err != nil {
			t.Fatal(err)
		}
	}
	checkApart(t, visits...)
	checkCounts(t, visits, "2", "3")
	for _, v := range visits {
		if !exited(t, v.Pid) {
			t.Errorf("process %s is left", v.Pid)
		}
	}
}

// Of two blocks one after the other in a run the second finds nothing of the
// first: its process is gone when Close returns, and the second has a new one.
func TestTwoBlocksInARowAreApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var leftAtSecond atomic.Bool
	w := b.worker(worker.Options{}, func(ctx workflow.Context) ([]visit, error) {
		visits := make([]visit, 2)
		for i := range visits {
			err := toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) (err error) {
				visits[i], err = visitBlock(ctx, ts, 3-i, nil)
				return err
			})
			if err != nil {
				return nil, err
			}
			if err := await(ctx, "check", visits[i].Pid); err != nil {
				return nil, err
			}
		}
		return visits, nil
	}, stdio("counter"))
	activityNamed(w, "check", func(pid string) error {
		if !exited(t, pid) {
			leftAtSecond.Store(true)
		}
		return nil
	})
	var visits []visit
	if err := b.start().Get(b.ctx, &visits); err != nil {
		t.Fatal(err)
	}
	checkApart(t, visits...)
	checkCounts(t, visits, "3", "2")
	if leftAtSecond.Load() {
		t.Error("the server's process was there after Close had returned")
	}
}

// Three blocks of one server that are open at once in one run are three
// sessions, whatever the order in which their calls come.
func TestThreeBlocksAtOnceInARunAreApart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) ([]visit, error) {
		visits := make([]visit, 3)
		errs := make([]error, len(visits))
		midway := 0
		group := workflow.NewWaitGroup(ctx)
		for i := range visits {
			group.Add(1)
			workflow.Go(ctx, func(ctx workflow.Context) {
				defer group.Done()
				errs[i] = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) (err error) {
					visits[i], err = visitBlock(ctx, ts, 2+i, func() error {
						midway++
						return workflow.Await(ctx, func() bool { return midway == len(visits) })
					})
					return err
				})
				if errs[i] != nil {
					midway = len(visits) // lets the others end
				}
			})
		}
		group.Wait(ctx)
		for _, err := range errs {
			if err != nil {
				return nil, err
			}
		}
		return visits, nil
	}, stdio("counter"))
	var visits []visit
	if err := b.start().Get(b.ctx, &visits); err != nil {
		t.Fatal(err)
	}
	checkApart(t, visits...)
	checkCounts(t, visits, "2", "3", "4")
}

// Blocks of two servers, one within the other, don't touch each other: calls to
// either reach its own, also after the inner one was closed.
func TestNestedBlocksOfTwoServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) ([]visit, error) {
		visits := make([]visit, 2)
		err := toolset.With(ctx, toolset.Options{Server: "outer"}, func(ctx workflow.Context, outer *toolset.Toolset) error {
			if _, err := call(ctx, outer, fixture.Incr, nil); err != nil {
				return err
			}
			err := toolset.With(ctx, toolset.Options{Server: "inner"}, func(ctx workflow.Context, inner *toolset.Toolset) (err error) {
				visits[1], err = visitBlock(ctx, inner, 1, func() error {
					_, err := call(ctx, outer, fixture.Incr, nil)
					return err
				})
				return err
			})
			if err != nil {
				return err
			}
			visits[0], err = visitBlock(ctx, outer, 1, nil)
			return err
		})
		return visits, err
	}, stdio("outer"), stdio("inner"))
	var visits []visit
	if err := b.start().Get(b.ctx, &visits); err != nil {
		t.Fatal(err)
	}
	checkApart(t, visits...)
	checkCounts(t, visits, "3", "1")
	if visits[0].Info.Server != "outer" || visits[1].Info.Server != "inner" {
		t.Errorf("the blocks are of servers %s and %s", visits[0].Info.Server, visits[1].Info.Server)
	}
}

// A block in a child workflow belongs to the child's run, beside one that its
// parent has open.
func TestBlockInAChildWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(worker.Options{}, func(ctx workflow.Context) ([]visit, error) {
		visits := make([]visit, 2)
		err := toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) (err error) {
			visits[0], err = visitBlock(ctx, ts, 3, func() error {
				return workflow.ExecuteChildWorkflow(ctx, "child").Get(ctx, &visits[1])
			})
			return err
		})
		return visits, err
	}, stdio("counter"))
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) (v visit, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			v, err = visitBlock(ctx, ts, 2, nil)
			return err
		})
		return v, err
	}, workflowOptions("child"))
	var visits []visit
	if err := b.start().Get(b.ctx, &visits); err != nil {
		t.Fatal(err)
	}
	if visits[0].RunID == visits[1].RunID {
		t.Error("parent and child have the same run")
	}
	checkApart(t, visits...)
	checkCounts(t, visits, "3", "2")
}
