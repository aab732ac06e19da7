package interop

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

// A driver is a run of a workflow that does what its test tells it, an update a
// step, so that a test can end a server between any two steps.
type driver struct {
	*bundle
	run client.WorkflowRun
}

// A talking is the input of the step "talk": the rounds from one until another.
type talking struct {
	Block       string
	From, Until int
}

// drive starts a worker that holds sessions of a server, and a driver of blocks
// that have conversations with it.
func (b *bundle) drive(of session.Server, begin func(*speaker) conversation) *driver {
	b.Helper()
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{of}})
	if err != nil {
		b.Fatal(err)
	}
	w := worker.New(b.client, b.taskQueue, worker.Options{
		Plugins:                  []worker.Plugin{plugin},
		DeadlockDetectionTimeout: testTimeout, // on a busy machine a slow workflow is none that hangs
	})
	w.RegisterWorkflowWithOptions(driven(of.Name, b.dir, begin), workflow.RegisterOptions{Name: "driven"})
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{ID: b.taskQueue, TaskQueue: b.taskQueue}, "driven")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = b.client.TerminateWorkflow(b.ctx, run.GetID(), "", "the test is over") })
	return &driver{b, run}
}

func driven(of, dir string, begin func(*speaker) conversation) func(workflow.Context) error {
	type block struct {
		*speaker
		conversation
	}
	return func(ctx workflow.Context) error {
		blocks := make(map[string]block)
		handlers := map[string]any{
			"open": func(ctx workflow.Context, name string) (toolset.Info, error) {
				ts, err := toolset.Open(ctx, toolset.Options{Server: of, Argument: name})
				if err != nil {
					return toolset.Info{}, err
				}
				s := &speaker{ts: ts, name: name, dir: dir}
				blocks[name] = block{s, begin(s)}
				return ts.Info(), nil
			},
			"tools": func(ctx workflow.Context, name string) (*mcp.ListToolsResult, error) {
				return blocks[name].ts.ListTools(ctx)
			},
			"library": func(ctx workflow.Context, name string) (library, error) {
				return askInBlock(ctx, blocks[name].ts)
			},
			"talk": func(ctx workflow.Context, t talking) error {
				b := blocks[t.Block]
				for n := t.From; n < t.Until; n++ {
					before := b.calls
					if err := b.round(ctx, n); err != nil {
						return err
					}
					if made := b.calls - before; made != callsPerRound {
						return fmt.Errorf("round %d has made %d calls", n, made)
					}
				}
				return nil
			},
			"remembers": func(ctx workflow.Context, name string) (string, error) {
				return blocks[name].remembers(ctx)
			},
			"close": func(ctx workflow.Context, name string) (calls int, err error) {
				return blocks[name].calls, blocks[name].ts.Close(ctx)
			},
		}
		for _, name := range workflow.DeterministicKeys(handlers) {
			if err := workflow.SetUpdateHandler(ctx, name, handlers[name]); err != nil {
				return err
			}
		}
		workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
		return nil
	}
}

// end ends the run, which must have nothing to tell.
func (d *driver) end() {
	d.Helper()
	if err := d.client.SignalWorkflow(d.ctx, d.run.GetID(), d.run.GetRunID(), "end", nil); err != nil {
		d.Fatal(err)
	}
	if err := d.run.Get(d.ctx, nil); err != nil {
		d.Error(err)
	}
}

// A step is one that the workflow has begun.
type step struct {
	*driver
	handle client.WorkflowUpdateHandle
}

// step begins a step and returns once the workflow has taken it up.
func (d *driver) step(name string, argument any) *step {
	d.Helper()
	handle, err := d.client.UpdateWorkflow(d.ctx, client.UpdateWorkflowOptions{
		WorkflowID: d.run.GetID(), RunID: d.run.GetRunID(), UpdateName: name, Args: []any{argument},
		WaitForStage: client.WorkflowUpdateStageAccepted,
	})
	if err != nil {
		d.Fatalf("%s: %v", name, err)
	}
	return &step{d, handle}
}

// ends waits for the step's end.
func (s *step) ends(result any) error {
	s.Helper()
	err := s.handle.Get(s.ctx, result)
	if s.ctx.Err() != nil {
		s.Fatalf("the workflow did not end its step in time: %v", err)
	}
	return err
}

// must waits for the end of a step that can't fail here.
func (s *step) must(result any) {
	s.Helper()
	if err := s.ends(result); err != nil {
		s.Fatal(err)
	}
}
