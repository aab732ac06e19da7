package tests

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

// oneAtATime is a server of one call at a time, with a tool that the test holds
// and one that returns at once.
func oneAtATime(g *gauge) session.Server {
	s := inMemory("narrow", func() *mcp.Server {
		s := serverOf("hold", g.call)
		s.AddTool(&mcp.Tool{Name: "quick", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.runs++
				return texts("quick"), nil
			})
		return s
	})
	s.MaxConcurrentCalls = 1
	return s
}

// waiting registers the condition that so many calls of the test's run are in the
// session's hands.
func (b *bundle) waiting(w worker.Worker, name string, calls int) {
	condition(w, name, func() bool {
		open, err := b.described(b.ctx, b.taskQueue, "")
		n := 0
		for _, activity := range open {
			if activity.GetActivityType().GetName() == "mcp.narrow.call-tool" && activity.GetLastStartedTime() != nil {
				n++
			}
		}
		return err == nil && n == calls
	})
}

// A call that waits for its turn has not begun: its CallTimeout starts with its
// turn, and one that is cancelled meanwhile never reaches the server.
func TestCallThatWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := newGauge()
	const timeout = 3 * time.Second
	type seen struct {
		Quick    string
		Canceled fault
	}
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		options := toolset.Options{Server: "narrow", ToolTimeouts: map[string]time.Duration{"quick": timeout}}
		err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			held := ts.CallToolAsync(ctx, "hold", nil)
			if err := await(ctx, "one is there"); err != nil {
				return err
			}
			lateCtx, cancel := workflow.WithCancel(ctx)
			quick, late := ts.CallToolAsync(ctx, "quick", nil), ts.CallToolAsync(lateCtx, "hold", nil)
			if err := await(ctx, "three are there"); err != nil {
				return err
			}
			cancel()
			got.Canceled = faultOf(late.Get(ctx, nil))
			// The session has heard of the cancel when the operation is no longer open.
			if err := await(ctx, "two are there"); err != nil {
				return err
			}
			if err := workflow.Sleep(ctx, timeout+timeout/2); err != nil {
				return err
			}
			if err := await(ctx, "release"); err != nil {
				return err
			}
			if err := held.Get(ctx, nil); err != nil {
				return err
			}
			var result *mcp.CallToolResult
			err := quick.Get(ctx, &result)
			if err == nil {
				got.Quick = result.Content[0].(*mcp.TextContent).Text
			}
			return err
		})
		return got, err
	}, oneAtATime(g))
	b.waiting(w, "one is there", 1)
	b.waiting(w, "two are there", 2)
	b.waiting(w, "three are there", 3)
	activityNamed(w, "release", func(ctx context.Context) error {
		select {
		case g.release <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	var got seen
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Quick != "quick" || !got.Canceled.Canceled {
		t.Errorf("the call that waited returned %q, the cancelled one %+v", got.Quick, got.Canceled)
	}
	if _, peak, runs := g.read(); peak != 1 || runs != 2 {
		t.Errorf("%d calls ran, at most %d at once; want 2, 1", runs, peak)
	}
}

// Close does not wait behind calls: with one that holds the only place and two
// that wait for it, all end and the session with them.
func TestCloseDoesNotWaitForATurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := newGauge()
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (types []string, err error) {
		ts, err := toolset.Open(ctx, toolset.Options{Server: "narrow"})
		if err != nil {
			return nil, err
		}
		var futures []workflow.Future
		for range 3 {
			futures = append(futures, ts.CallToolAsync(ctx, "hold", nil))
		}
		if err := await(ctx, "three are there"); err != nil {
			return nil, err
		}
		if err := ts.Close(ctx); err != nil {
			return nil, err
		}
		for _, future := range futures {
			types = append(types, faultOf(future.Get(ctx, nil)).Type)
		}
		return types, nil
	}, oneAtATime(g))
	b.waiting(w, "three are there", 3)
	var types []string
	if err := b.start().Get(b.ctx, &types); err != nil {
		t.Fatal(err)
	}
	if closed := failure.TypeSessionClosed; !slices.Equal(types, []string{closed, closed, closed}) {
		t.Errorf("the calls ended with %q", types)
	}
	if _, _, runs := g.read(); runs > 1 {
		t.Errorf("%d calls ran", runs)
	}
}

// A workflow may continue as new from within a block: the block is closed, and the
// new run's is another.
func TestContinueAsNewFromABlock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context, before []visit) (visits []visit, err error) {
		visits = before
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			v, err := visitBlock(ctx, ts, 2, nil)
			visits = append(visits, v)
			if err == nil && len(visits) < 3 {
				return workflow.NewContinueAsNewError(ctx, "test", visits)
			}
			return err
		})
		return visits, err
	}, stdio("counter"))
	var visits []visit
	if err := b.start([]visit{}).Get(b.ctx, &visits); err != nil {
		t.Fatal(err)
	}
	if len(visits) != 3 {
		t.Fatalf("%d runs had a block", len(visits))
	}
	checkApart(t, visits...)
	checkCounts(t, visits, "2", "2", "2")
	for _, v := range visits {
		if !exited(t, v.Pid) {
			t.Errorf("process %s is left", v.Pid)
		}
	}
}
