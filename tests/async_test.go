package tests

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A gauge is a tool that counts its calls, and ends one when the test lets it.
type gauge struct {
	release chan struct{}

	mu                   sync.Mutex
	runs, inFlight, peak int
}

func newGauge() *gauge { return &gauge{release: make(chan struct{})} }

func (g *gauge) call(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	g.mu.Lock()
	g.runs++
	run := g.runs
	g.inFlight++
	g.peak = max(g.peak, g.inFlight)
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.inFlight--
	}()
	select {
	case <-g.release:
		return texts("%s %d", request.Params.Arguments, run), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *gauge) read() (inFlight, peak, runs int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inFlight, g.peak, g.runs
}

// begun returns how many activities of a type a run has that a worker works on.
func (b *bundle) begun(run client.WorkflowRun, activityType string) (n int) {
	b.Helper()
	open, err := b.described(b.ctx, run.GetID(), run.GetRunID())
	if err != nil {
		b.Fatal(err)
	}
	for _, activity := range open {
		if activity.GetActivityType().GetName() == activityType && activity.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
			n++
		}
	}
	return n
}

// Twenty calls at once run once each, and each future has the result of its own
// call. With all of them in the session's hands, as many reach the server as
// MaxConcurrentCalls says, no fewer and never more.
func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	const calls = 20
	for limit, want := range map[int]int{0: calls, 1: 1, 4: 4} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			g := newGauge()
			s := inMemory("gauge", func() *mcp.Server { return serverOf("hold", g.call) })
			s.MaxConcurrentCalls = limit
			b.worker(worker.Options{}, func(ctx workflow.Context) (got []string, err error) {
				err = toolset.With(ctx, toolset.Options{Server: "gauge"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
					var futures []workflow.Future
					for i := range calls {
						futures = append(futures, ts.CallToolAsync(ctx, "hold", map[string]int{"i": i}))
					}
					for i, future := range futures {
						// A result may be taken as a value or as a pointer, more than once.
						var value mcp.CallToolResult
						var pointer *mcp.CallToolResult
						if err := future.Get(ctx, &value); err != nil {
							return err
						}
						if err := future.Get(ctx, &pointer); err != nil {
							return err
						}
						if fixture.Text(&value) != fixture.Text(pointer) {
							return fmt.Errorf("future %d: value %q, pointer %q", i, fixture.Text(&value), fixture.Text(pointer))
						}
						got = append(got, fixture.Text(pointer))
					}
					return nil
				})
				return got, err
			}, s)
			run := b.start()
			b.eventually("all calls are in the session's hands", func() bool { return b.begun(run, "mcp.gauge.call-tool") == calls })
			b.eventually("the limit is reached", func() bool { inFlight, _, _ := g.read(); return inFlight >= want })
			for range calls {
				select {
				case g.release <- struct{}{}:
				case <-b.ctx.Done():
					t.Fatal("no call waits to be released")
				}
			}
			var got []string
			if err := run.Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if _, peak, runs := g.read(); peak != want || runs != calls {
				t.Errorf("%d calls ran, at most %d at once; want %d, %d", runs, peak, calls, want)
			}
			numbers := make(map[int]bool)
			for i, text := range got {
				var index, number int
				if _, err := fmt.Sscanf(text, `{"i":%d} %d`, &index, &number); err != nil || index != i || numbers[number] {
					t.Errorf("future %d has the result %q (%v), a number seen before: %v", i, text, err, numbers[number])
				}
				numbers[number] = true
			}
		})
	}
}

// The futures of calls and a timer stand side by side in a selector, which takes
// each as it becomes ready.
func TestSelectorTakesCallsAndTimers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := newGauge()
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (order []string, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "gauge"}, func(ctx workflow.Context, held *toolset.Toolset) error {
			return toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, quick *toolset.Toolset) error {
				took := func(what string) func(workflow.Future) {
					return func(f workflow.Future) {
						if err := f.Get(ctx, nil); err != nil {
							what += ": " + err.Error()
						}
						order = append(order, what)
					}
				}
				selector := workflow.NewSelector(ctx).
					AddFuture(held.CallToolAsync(ctx, "hold", nil), took("held")).
					AddFuture(quick.CallToolAsync(ctx, fixture.Incr, nil), took("quick"))
				selector.Select(ctx)
				selector.AddFuture(workflow.NewTimer(ctx, 20*time.Millisecond), took("timer"))
				selector.Select(ctx)
				if err := await(ctx, "release"); err != nil {
					return err
				}
				selector.Select(ctx)
				if selector.HasPending() {
					order = append(order, "something else")
				}
				return nil
			})
		})
		return order, err
	}, inMemory("gauge", func() *mcp.Server { return serverOf("hold", g.call) }), stdio("counter"))
	activityNamed(w, "release", func(ctx context.Context) error {
		select {
		case g.release <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	var order []string
	if err := b.start().Get(b.ctx, &order); err != nil {
		t.Fatal(err)
	}
	if want := []string{"quick", "timer", "held"}; !slices.Equal(order, want) {
		t.Errorf("the selector took %q, want %q", order, want)
	}
}

// A call whose own context is cancelled ends on the server too, by a notice of
// MCP; the call beside it and the session go on. (C16)
func TestCancelOfOneCallReachesTheServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	one := fixture.BlockArguments{Began: filepath.Join(dir, "one-began"), Canceled: filepath.Join(dir, "one-canceled")}
	two := fixture.BlockArguments{Began: filepath.Join(dir, "two-began"), Canceled: filepath.Join(dir, "two-canceled")}
	type seen struct {
		One, Late  fault
		TwoIsReady bool
		Count      string
	}
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			oneCtx, cancel := workflow.WithCancel(ctx)
			first := ts.CallToolAsync(oneCtx, fixture.Block, one)
			second := ts.CallToolAsync(ctx, fixture.Block, two)
			if err := await(ctx, "both began"); err != nil {
				return err
			}
			cancel()
			got.One = faultOf(first.Get(ctx, nil))
			if err := await(ctx, "one was canceled"); err != nil {
				return err
			}
			_, err := ts.CallTool(oneCtx, fixture.Incr, nil)
			got.Late = faultOf(err)
			got.TwoIsReady = second.IsReady()
			got.Count, err = call(ctx, ts, fixture.Incr, nil)
			return err
		})
		return got, err
	}, stdio("counter"))
	condition(w, "both began", func() bool { return len(notes(one.Began)) == 1 && len(notes(two.Began)) == 1 })
	condition(w, "one was canceled", func() bool { return len(notes(one.Canceled)) == 1 })
	run := b.start()
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if !got.One.Canceled || !got.Late.Canceled {
		t.Errorf("the cancelled call ended with %+v, one on its context with %+v; want CanceledErrors", got.One, got.Late)
	}
	if got.TwoIsReady || got.Count != "1" {
		t.Errorf("the other call is ready: %v; the counter is %q, want 1", got.TwoIsReady, got.Count)
	}
	// The other one ended with the block, not before.
	if one, two := len(notes(one.Canceled)), len(notes(two.Canceled)); one != 1 || two != 1 {
		t.Errorf("the server was told of %d and %d cancels, want one each", one, two)
	}
	if calls := b.activities(run, "mcp.counter.call-tool"); len(calls) != 3 || !calls[0].canceled {
		t.Errorf("the history has %d calls, of which the first was cancelled: %v", len(calls), calls[0].canceled)
	}
}
