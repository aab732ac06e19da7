package tests

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// manyCalls is a workflow whose block makes ten calls one after the other and ten
// at once.
func manyCalls(ctx workflow.Context) (got string, err error) {
	err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		var futures []workflow.Future
		for range 10 {
			if _, err := call(ctx, ts, fixture.Incr, nil); err != nil {
				return err
			}
		}
		for range 10 {
			futures = append(futures, ts.CallToolAsync(ctx, fixture.Incr, nil))
		}
		for _, future := range futures {
			if err := future.Get(ctx, nil); err != nil {
				return err
			}
		}
		got, err = call(ctx, ts, fixture.Get, nil)
		return err
	})
	return got, err
}

// Limits that a worker sets for its own queue don't slow a block's calls: with the
// one slot taken by the session, and one activity in ten seconds, they would never
// end.
func TestLimitsOfTheHostAreNotTheBlocks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{
		MaxConcurrentActivityExecutionSize: 1,
		WorkerActivitiesPerSecond:          0.1,
		TaskQueueActivitiesPerSecond:       0.1,
	}, manyCalls, stdio("counter"))
	var got string
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got != "20" {
		t.Errorf("the counter is %q", got)
	}
}

// What the host worker's BackgroundActivityContext carries is there for the
// connector and for each operation.
func TestBackgroundContextOfTheHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	noted := &tenants{seen: make(map[string]string)}
	connect := transport.InMemory(func(transport.Argument) *mcp.Server { return fixture.New() })
	w := b.worker(worker.Options{
		BackgroundActivityContext: context.WithValue(context.Background(), tenantKey{}, "from the host"),
		Interceptors:              []interceptor.WorkerInterceptor{noted},
	}, oneCall, session.Server{
		Name: "counter",
		Connect: func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
			noted.note(ctx, "connector")
			return connect(ctx, arg)
		},
	})
	if err := b.start().Get(b.ctx, nil); err != nil {
		t.Fatal(err)
	}
	w.Stop()
	for _, where := range append([]string{"connector"}, oneCallActivities...) {
		if got := noted.seen[where]; got != "from the host" {
			t.Errorf("%s ran under %q", where, got)
		}
	}
}
