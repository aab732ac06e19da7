package tests

import (
	"slices"
	"strings"
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

// A workflow of two blocks is reset while it is in the second, or when it is over.
// No call of the new run reaches a session of the old one, whose server goes away.
// Reset to before a block, the new run opens one of its own; reset into the middle,
// it learns that the block's session belongs to the run before, and may open
// another; a block that it has behind it is left alone.
func TestWorkflowReset(t *testing.T) {
	t.Parallel()
	const first, between, second = "the first block", "between", "the second block"
	for name, tc := range map[string]struct {
		to       string
		over     bool // the old run is
		lost     int  // blocks of the new run
		connects int
	}{
		"to before the blocks":               {to: "", connects: 4},
		"into the first":                     {to: first, lost: 1, connects: 4},
		"to between them":                    {to: between, connects: 3},
		"into the second":                    {to: second, lost: 1, connects: 3},
		"when it is over, into the first":    {to: first, over: true, lost: 1, connects: 4},
		"when it is over, to between them":   {to: between, over: true, connects: 3},
		"when it is over, into the second":   {to: second, over: true, lost: 1, connects: 3},
		"when it is over, to after them all": {to: "the end", over: true, connects: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			b.host(worker.Options{}, session.Options{})
			options := b.options(steadyHeartbeat)
			effects := b.file("effects")
			var waits, goOn atomic.Bool
			goOn.Store(tc.over)
			type seen struct {
				Counts []string
				Lost   []fault
			}
			w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
				block := func(name string) error {
					body := func(ctx workflow.Context, ts *toolset.Toolset) error {
						if _, err := call(ctx, ts, fixture.Incr, nil); err != nil {
							return err
						}
						if err := await(ctx, name); err != nil {
							return err
						}
						if name == second {
							if err := await(ctx, "go on"); err != nil {
								return err
							}
						}
						count, err := call(ctx, ts, fixture.Incr, nil)
						if err != nil {
							return err
						}
						got.Counts = append(got.Counts, count)
						line := workflow.GetInfo(ctx).WorkflowExecution.RunID + " " + ts.Info().Instance
						_, err = call(ctx, ts, fixture.Append, fixture.AppendArguments{File: effects, Line: line})
						return err
					}
					err := toolset.With(ctx, options, body)
					if failure.IsDedicatedWorker(err) {
						got.Lost = append(got.Lost, faultOf(err))
						err = toolset.With(ctx, options, body)
					}
					return err
				}
				if err := block(first); err != nil {
					return got, err
				}
				if err := await(ctx, between); err != nil {
					return got, err
				}
				if err := block(second); err != nil {
					return got, err
				}
				return got, await(ctx, "the end")
			})
			for _, name := range []string{first, between, second, "the end"} {
				condition(w, name, func() bool { return true })
			}
			condition(w, "go on", func() bool { waits.Store(true); return goOn.Load() })
			old := b.begin(client.StartWorkflowOptions{})
			var server []int
			if tc.over {
				if err := old.Get(b.ctx, nil); err != nil {
					t.Fatal(err)
				}
			} else {
				b.eventually("the workflow waits in its second block", waits.Load)
				server = b.processes()
			}
			written := len(b.lines(effects))

			began := time.Now()
			run := b.reset(old, b.taskAfter(old, tc.to))
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
			if !slices.Equal(got.Counts, []string{"2", "2"}) {
				t.Errorf("the new run counted %v", got.Counts)
			}
			// What the new run has called is what its own sessions were told.
			instances := make(map[string]bool)
			for i, line := range b.lines(effects) {
				runID, instance, _ := strings.Cut(line, " ")
				if i >= written && runID != run.GetRunID() || i < written && runID == run.GetRunID() || instances[instance] {
					t.Errorf("effect %d of %d was made by run %s in session %s; the new run is %s", i, written, runID, instance, run.GetRunID())
				}
				instances[instance] = true
			}
			if len(got.Lost) != tc.lost {
				t.Errorf("the new run has lost %d blocks: %+v", len(got.Lost), got.Lost)
			}
			for _, lost := range got.Lost {
				if lost.Type != failure.TypeDedicatedWorker || lost.Details.Reason != failure.ReasonWorkflowReset || lost.Ran == failure.RanYes {
					t.Errorf("the new run lost its block by %+v", lost)
				}
			}
			if n := len(b.connects()); n != tc.connects {
				t.Errorf("%d connectors were run, want %d", n, tc.connects)
			}
			b.eventually("no server is left", func() bool { return len(b.processes()) == 0 })
		})
	}
}

// taskAfter returns the workflow task in which the run took the result of an
// activity of the test's own; its first one without a name.
func (b *bundle) taskAfter(run client.WorkflowRun, activityType string) int64 {
	b.Helper()
	scheduled := make(map[int64]bool)
	reached := activityType == ""
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		scheduling := event.GetActivityTaskScheduledEventAttributes()
		switch {
		case scheduling != nil && scheduling.GetActivityType().GetName() == activityType:
			scheduled[event.GetEventId()] = true
		case scheduled[event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()]:
			reached = true
		case reached && event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			return event.GetEventId()
		}
	}
	b.Fatalf("the run has no workflow task after %q", activityType)
	return 0
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
