package tests

import (
	"errors"
	"fmt"
	"maps"
	"strconv"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A driver is a run of a workflow that does what its test tells it, an update a
// step, so that a test can put a fault between any two steps. What the workflow
// sees comes back as the update's result or error.
type driver struct {
	*bundle
	run client.WorkflowRun
}

// drive starts a driver whose blocks have these options.
func (b *bundle) drive(options toolset.Options) *driver {
	b.Helper()
	return b.driveOn(worker.Options{}, options)
}

func (b *bundle) driveOn(on worker.Options, options toolset.Options) *driver {
	b.Helper()
	b.worker(on, driven(options))
	return &driver{bundle: b, run: b.begin(client.StartWorkflowOptions{})}
}

func driven(options toolset.Options) func(workflow.Context) error {
	return func(ctx workflow.Context) error {
		var blocks []*toolset.Toolset
		handlers := map[string]any{
			"open": func(ctx workflow.Context) (opened, error) {
				ts, err := toolset.Open(ctx, options)
				if err != nil {
					return opened{}, err
				}
				blocks = append(blocks, ts)
				return opened{len(blocks) - 1, ts.Info().Host, ts.Info().TaskQueue, ts.Info().Instance}, nil
			},
			"call": func(ctx workflow.Context, c calling) (string, error) {
				return call(ctx, blocks[c.Block], c.Tool, c.Arguments)
			},
			"close": func(ctx workflow.Context, block int) error { return blocks[block].Close(ctx) },
		}
		maps.Copy(handlers, wireHandlers())
		for _, name := range workflow.DeterministicKeys(handlers) {
			if err := workflow.SetUpdateHandler(ctx, name, handlers[name]); err != nil {
				return err
			}
		}
		return endAs(ctx)
	}
}

// The ways in which a driver may end.
const (
	returns         = "returns"
	fails           = "fails"
	panics          = "panics"
	continuesAsNew  = "continues as new"
	returnsCanceled = "returns cancelled"
)

// endAs waits for the word to end the run, or for its cancel, and ends it so.
func endAs(ctx workflow.Context) error {
	var how string
	workflow.NewSelector(ctx).
		AddReceive(workflow.GetSignalChannel(ctx, "end"), func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, &how) }).
		AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { how = returnsCanceled }).
		Select(ctx)
	switch how {
	case fails:
		return errors.New("the workflow fails")
	case panics:
		panic("the workflow panics")
	case continuesAsNew:
		return workflow.NewContinueAsNewError(ctx, "test")
	case returnsCanceled:
		return ctx.Err()
	}
	return nil
}

// end tells the run to end in one of the ways.
func (d *driver) end(how string) {
	d.Helper()
	if err := d.client.SignalWorkflow(d.ctx, d.run.GetID(), d.run.GetRunID(), "end", how); err != nil {
		d.Fatal(err)
	}
}

// An opened block of a driver.
type opened struct {
	Index                     int
	Host, TaskQueue, Instance string
}

// A calling is the input of the step "call".
type calling struct {
	Block     int
	Tool      string
	Arguments any
}

type drivenBlock struct {
	*driver
	opened
}

// open opens a block.
func (d *driver) open() *drivenBlock {
	d.Helper()
	k, err := d.tryOpen()
	if err != nil {
		d.Fatal(err)
	}
	return k
}

func (d *driver) tryOpen() (*drivenBlock, error) {
	d.Helper()
	return d.beginOpen().block()
}

// beginOpen begins to open a block.
func (d *driver) beginOpen() *step { d.Helper(); return d.step("open") }

// call calls a tool.
func (k *drivenBlock) call(tool string, arguments any) (string, error) {
	k.Helper()
	return k.beginCall(tool, arguments).text()
}

// beginCall schedules a call of a tool.
func (k *drivenBlock) beginCall(tool string, arguments any) *step {
	k.Helper()
	return k.step("call", calling{k.Index, tool, arguments})
}

// must calls a tool that can't fail here.
func (k *drivenBlock) must(tool string) string {
	k.Helper()
	text, err := k.call(tool, nil)
	if err != nil {
		k.Fatalf("%s: %v", tool, err)
	}
	return text
}

// pid returns the id of the MCP server's process.
func (k *drivenBlock) pid() int {
	k.Helper()
	pid, err := strconv.Atoi(k.must(fixture.Pid))
	if err != nil {
		k.Fatal(err)
	}
	return pid
}

// close closes the block.
func (k *drivenBlock) close() error { k.Helper(); return k.step("close", k.Index).err() }

// A step is one that the workflow has begun.
type step struct {
	*driver
	handle client.WorkflowUpdateHandle
}

// step begins a step and returns once the workflow has taken it up.
func (d *driver) step(name string, arguments ...any) *step {
	d.Helper()
	handle, err := d.client.UpdateWorkflow(d.ctx, client.UpdateWorkflowOptions{
		WorkflowID: d.run.GetID(), RunID: d.run.GetRunID(), UpdateName: name, Args: arguments,
		WaitForStage: client.WorkflowUpdateStageAccepted,
	})
	if err != nil {
		d.Fatalf("%s: %v", name, err)
	}
	return &step{d, handle}
}

func (s *step) get(result any) error {
	s.Helper()
	err := s.handle.Get(s.ctx, result)
	if s.ctx.Err() != nil {
		s.Fatalf("the workflow did not end its step in time: %v", err)
	}
	return err
}

func (s *step) err() error { s.Helper(); return s.get(nil) }

func (s *step) text() (text string, err error) { s.Helper(); err = s.get(&text); return text, err }

func (s *step) block() (*drivenBlock, error) {
	s.Helper()
	var o opened
	err := s.get(&o)
	return &drivenBlock{s.driver, o}, err
}

// awaitEvent returns the first event of the run that is wanted, as soon as it is
// there.
func (b *bundle) awaitEvent(run client.WorkflowRun, what string, wanted func(*historypb.HistoryEvent) bool) *historypb.HistoryEvent {
	b.Helper()
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			b.Fatalf("wait for %s: %v", what, err)
		}
		if wanted(event) {
			return event
		}
	}
	b.Fatalf("the run is over without %s", what)
	return nil
}

// awaitSessionEnd returns once the history says that a session activity has
// ended, other than by a cancel.
func (b *bundle) awaitSessionEnd(run client.WorkflowRun) {
	b.Helper()
	sessions := make(map[int64]bool)
	b.awaitEvent(run, "the end of a session", func(e *historypb.HistoryEvent) bool {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == queue.SessionActivity("counter") {
			sessions[e.GetEventId()] = true
		}
		return sessions[e.GetActivityTaskFailedEventAttributes().GetScheduledEventId()] ||
			sessions[e.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId()] ||
			sessions[e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()]
	})
}

// scheduled returns how many activities the run has scheduled.
func (d *driver) scheduled() int { d.Helper(); return len(d.activities(d.run, "")) }

// callUnscheduled returns the error of a call, which must not have scheduled an
// activity.
func (k *drivenBlock) callUnscheduled() error {
	k.Helper()
	before := k.scheduled()
	_, err := k.call(fixture.Get, nil)
	if n := k.scheduled() - before; n != 0 {
		k.Errorf("the call after the loss has scheduled %d activities", n)
	}
	return err
}

// wantCounter fails the test unless the block's counter is n.
func (k *drivenBlock) wantCounter(n int) {
	k.Helper()
	if got := k.must(fixture.Get); got != fmt.Sprint(n) {
		k.Errorf("the counter is %s, want %d", got, n)
	}
}
