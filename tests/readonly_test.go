package tests

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// A block that is used in a query handler, an update validator or a side effect
// says so, schedules nothing and stays open: what it knows may be read there.
func TestBlockInReadOnlyCode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type seen struct {
		SideEffect []string
		Count      string
	}
	b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			use := func() (texts []string) {
				_, calling := ts.CallTool(ctx, fixture.Incr, nil)
				_, listing := ts.ListTools(ctx)
				_, opening := toolset.Open(ctx, toolset.Options{Server: "counter"})
				for _, err := range []error{calling, listing, opening, ts.Close(ctx)} {
					texts = append(texts, faultOf(err).Text)
				}
				return append(texts, ts.Info().Instance)
			}
			if err := workflow.SetQueryHandler(ctx, "use", func() ([]string, error) { return use(), nil }); err != nil {
				return err
			}
			err := workflow.SetUpdateHandlerWithOptions(ctx, "use", func(workflow.Context) error { return nil }, workflow.UpdateHandlerOptions{
				Validator: func(workflow.Context) error {
					_, err := ts.CallTool(ctx, fixture.Incr, nil)
					return err
				},
			})
			if err != nil {
				return err
			}
			if err := workflow.SideEffect(ctx, func(workflow.Context) any { return use() }).Get(&got.SideEffect); err != nil {
				return err
			}
			workflow.GetSignalChannel(ctx, "go on").Receive(ctx, nil)
			got.Count, err = call(ctx, ts, fixture.Incr, nil)
			return err
		})
		return got, err
	}, stdio("counter"))
	run := b.start()

	var queried []string
	b.eventually("the query handler is there", func() bool {
		value, err := b.client.QueryWorkflow(b.ctx, run.GetID(), run.GetRunID(), "use")
		return err == nil && value.Get(&queried) == nil
	})
	handle, err := b.client.UpdateWorkflow(b.ctx, client.UpdateWorkflowOptions{
		WorkflowID: run.GetID(), RunID: run.GetRunID(), UpdateName: "use", WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(b.ctx, nil)
	}
	if err == nil {
		t.Error("the update's validator could call a tool")
	} else {
		mentions(t, err.Error(), `"counter"`, "update validator")
	}
	if err := b.client.SignalWorkflow(b.ctx, run.GetID(), run.GetRunID(), "go on", nil); err != nil {
		t.Fatal(err)
	}
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	for where, texts := range map[string][]string{"a query handler": queried, "a side effect": got.SideEffect} {
		if len(texts) != 5 || texts[4] == "" {
			t.Fatalf("%s saw %q", where, texts)
		}
		for _, text := range texts[:4] {
			mentions(t, text, `"counter"`, "query handler", "side effect")
		}
	}
	if calls, sessions := len(b.activities(run, "mcp.counter.call-tool")), len(b.activities(run, "mcp.counter.session")); calls != 1 || sessions != 1 || got.Count != "1" {
		t.Errorf("the history has %d calls and %d sessions, the counter is %q", calls, sessions, got.Count)
	}
}

// Open on a cancelled context schedules nothing. One that is cancelled while it
// waits for the session returns at once, and nothing of the block is left, neither
// in the run nor on the host.
func TestCancelledOpen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before     bool
		activities int
	}{"before it": {true, 1}, "while it waits": {false, 4}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			connecting, left := newLatch(), newLatch()
			w := b.worker(worker.Options{}, func(ctx workflow.Context) (got fault, err error) {
				openCtx, cancel := workflow.WithCancel(ctx)
				if test.before {
					cancel()
				} else {
					workflow.Go(ctx, func(ctx workflow.Context) {
						_ = await(ctx, "connecting")
						cancel()
					})
				}
				_, err = toolset.Open(openCtx, toolset.Options{Server: "slow", Session: workflow.ActivityOptions{HeartbeatTimeout: shortBeat}})
				got = faultOf(err)
				return got, await(ctx, nothingOpen)
			}, session.Server{Name: "slow", Connect: func(ctx context.Context, _ transport.Argument) (mcp.Transport, error) {
				connecting.open()
				<-ctx.Done()
				left.open()
				return nil, ctx.Err()
			}})
			condition(w, "connecting", connecting.isOpen)
			b.nothingOpen(w)
			run := b.start()
			var got fault
			if err := run.Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if !got.Canceled {
				t.Errorf("Open returned %+v", got)
			}
			if !test.before {
				b.wait(left, "the end of the connector")
			}
			if n := len(b.activities(run, "")); n != test.activities {
				t.Errorf("the history has %d activities, want %d", n, test.activities)
			}
		})
	}
}
