package tests

import (
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// workflowTasks are the events of a run that say that a workflow task of it was
// completed.
type workflowTasks struct {
	ids  []int64
	last bool // nothing has happened since
}

func (b *bundle) workflowTasks(run client.WorkflowRun) (tasks workflowTasks) {
	b.Helper()
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		if tasks.last = event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED; tasks.last {
			tasks.ids = append(tasks.ids, event.GetEventId())
		}
	}
	return tasks
}

// reset resets a run to a workflow task and returns the new run.
func (b *bundle) reset(run client.WorkflowRun, workflowTask int64) client.WorkflowRun {
	b.Helper()
	response, err := b.client.ResetWorkflowExecution(b.ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace:                 server.Namespace,
		WorkflowExecution:         &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		Reason:                    "test",
		RequestId:                 b.taskQueue,
		WorkflowTaskFinishEventId: workflowTask,
	})
	if err != nil {
		b.Fatal(err)
	}
	return b.client.GetWorkflow(b.ctx, run.GetID(), response.GetRunId())
}

// A workflow is reset while it is in a block. No call of the new run reaches the
// session of the old one, whose server goes away. Reset to before the block, the
// new run opens one of its own; reset into the middle, it learns that the block's
// session belongs to the run before, and may open another.
func TestWorkflowReset(t *testing.T) {
	t.Parallel()
	for name, middle := range map[string]bool{"to before the block": false, "into the block": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			b.host(worker.Options{}, session.Options{})
			calls := b.file("calls")
			var waiting, goOn atomic.Bool
			type seen struct {
				Pids   []string
				Counts []string
				Lost   fault
			}
			w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
				body := func(ctx workflow.Context, ts *toolset.Toolset) error {
					pid, err := call(ctx, ts, fixture.Pid, nil)
					if err != nil {
						return err
					}
					got.Pids = append(got.Pids, pid)
					if _, err := call(ctx, ts, fixture.Incr, nil); err != nil {
						return err
					}
					if err := await(ctx, "go on"); err != nil {
						return err
					}
					count, err := call(ctx, ts, fixture.Incr, nil)
					if err != nil {
						return err
					}
					got.Counts = append(got.Counts, count)
					_, err = call(ctx, ts, fixture.Append, fixture.AppendArguments{File: calls, Line: pid})
					return err
				}
				err = toolset.With(ctx, b.options(shortHeartbeat), body)
				if failure.IsDedicatedWorker(err) {
					got.Lost = faultOf(err)
					err = toolset.With(ctx, b.options(shortHeartbeat), body)
				}
				return got, err
			})
			condition(w, "go on", func() bool { waiting.Store(true); return goOn.Load() })
			old := b.begin(client.StartWorkflowOptions{})
			b.eventually("the workflow waits in its block", waiting.Load)
			server := b.processes()
			tasks := b.workflowTasks(old).ids
			at := tasks[0]
			if middle {
				at = tasks[len(tasks)-1]
			}

			began := time.Now()
			run := b.reset(old, at)
			for _, pid := range server {
				b.awaitGone(pid)
			}
			b.toldAfter(began, "the old run's server was gone")
			goOn.Store(true)
			var got seen
			if err := run.Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			b.toldAfter(began, "the new run was over")
			last := got.Pids[len(got.Pids)-1]
			if !slices.Equal(got.Counts, []string{"2"}) || !slices.Equal(b.lines(calls), []string{last}) {
				t.Errorf("the counts are %v, and %v were called", got.Counts, b.lines(calls))
			}
			if pid, _ := strconv.Atoi(last); slices.Contains(server, pid) {
				t.Error("the new run has used the server of the old one")
			}
			switch {
			case !middle && (len(got.Pids) != 1 || got.Lost.Text != ""):
				t.Errorf("the new run saw %+v", got)
			case middle && (got.Lost.Type != failure.TypeDedicatedWorker || got.Lost.Details.Reason != failure.ReasonWorkflowReset):
				t.Errorf("the new run lost its block by %+v", got.Lost)
			case middle && got.Lost.Ran == failure.RanYes:
				t.Errorf("a tool ran: %+v", got.Lost)
			}
			b.wantConnects("here", "here")
		})
	}
}

// A workflow is reset while a call runs, to a workflow task after the one that
// scheduled it: the new run has the call's activity once more, and with it what
// it was to carry to the session of the old run. That session, which still lives,
// refuses it, the tool is not run again, and the new run is told that it may have.
func TestWorkflowResetUnderACall(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	// The host has no room for the session activity that the reset brings, so the
	// old session is asked first.
	b.host(worker.Options{MaxConcurrentActivityExecutionSize: 1}, session.Options{})
	arguments := fixture.BlockArguments{Began: b.file("began"), Canceled: b.file("canceled")}
	var waiting atomic.Bool
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (fault, error) {
		ts, err := toolset.Open(ctx, b.options(3*shortHeartbeat))
		if err != nil {
			return fault{}, err
		}
		pending := ts.CallToolAsync(ctx, fixture.Block, arguments)
		if err := await(ctx, "the call runs"); err != nil {
			return fault{}, err
		}
		waiting.Store(true)
		return faultOf(pending.Get(ctx, nil)), nil
	})
	condition(w, "the call runs", func() bool { return len(b.lines(arguments.Began)) > 0 })
	old := b.begin(client.StartWorkflowOptions{})
	b.eventually("the run waits for the call", func() bool { return waiting.Load() && b.workflowTasks(old).last })
	tasks := b.workflowTasks(old)
	run := b.reset(old, tasks.ids[len(tasks.ids)-1])
	var lost fault
	if err := run.Get(b.ctx, &lost); err != nil {
		t.Fatal(err)
	}
	reasons := []failure.Reason{failure.ReasonOtherInstance, failure.ReasonWorkflowReset}
	if lost.Type != failure.TypeDedicatedWorker || !slices.Contains(reasons, lost.Details.Reason) || lost.Ran != failure.RanUnknown {
		t.Errorf("the new run's call ended with %+v; want a loss of %v, and that the tool may have run", lost, reasons)
	}
	// The old session ends at its next heartbeat.
	b.awaitLines(arguments.Canceled, 1)
	if n := len(b.lines(arguments.Began)); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	b.wantConnects("here")
}
