package tests

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
)

// A reckless is a plugin of a client, and an interceptor, that fail on a block's own
// queue as they are told.
type reckless struct {
	clientBase
	workerBase
	interceptor.WorkerInterceptorBase

	configure, start error // nil: it does not; errPanic: by a panic
	before, after    *atomic.Int32
	dedicated        *sync.Map // the instance keys of the workers of blocks' queues
}

func newReckless() *reckless {
	return &reckless{before: new(atomic.Int32), after: new(atomic.Int32), dedicated: new(sync.Map)}
}

var errPanic = errors.New("a panic")

func failAs(err error) error {
	if errors.Is(err, errPanic) {
		panic("a plugin's own fault")
	}
	return err
}

func (*reckless) Name() string { return "tests.reckless" }

func (r *reckless) ConfigureWorker(_ context.Context, o worker.PluginConfigureWorkerOptions) error {
	if !strings.Contains(o.TaskQueue, "@") {
		return nil
	}
	r.dedicated.Store(o.WorkerInstanceKey, true)
	return failAs(r.configure)
}

func (r *reckless) StartWorker(ctx context.Context, o worker.PluginStartWorkerOptions, next func(context.Context, worker.PluginStartWorkerOptions) error) error {
	if _, ok := r.dedicated.Load(o.WorkerInstanceKey); ok && r.start != nil {
		return failAs(r.start)
	}
	return next(ctx, o)
}

func (r *reckless) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &recklessActivity{of: r}
	i.Next = next
	return i
}

type recklessActivity struct {
	interceptor.ActivityInboundInterceptorBase
	of *reckless
}

func (r *recklessActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if activityTypeOf(ctx) == callTool && r.of.before.Add(-1) >= 0 {
		panic("before the call")
	}
	result, err := r.Next.ExecuteActivity(ctx, in)
	if activityTypeOf(ctx) == callTool && r.of.after.Add(-1) >= 0 {
		panic("after the call")
	}
	return result, err
}

// A client's plugin that fails or panics when it sees the worker of a block's queue
// leaves no worker that could serve the block: Open says so, the server that was
// open is closed, and the host goes on.
func TestPluginFailsOnTheBlocksQueue(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(*reckless){
		"configuring fails":  func(r *reckless) { r.configure = errors.New("a plugin's own fault") },
		"configuring panics": func(r *reckless) { r.configure = errPanic },
		"starting fails":     func(r *reckless) { r.start = errors.New("a plugin's own fault") },
		"starting panics":    func(r *reckless) { r.start = errPanic },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			plugin := newReckless()
			tell(plugin)
			tool, host := b.hostHeldBy(plugin)
			d := b.drive(b.options(longHeartbeat))
			_, err := d.tryOpen()
			details, ok := failure.Open(err)
			if !ok || details.ToolRan != failure.RanNo {
				t.Errorf("OpenFailure %v, details %+v: %v", ok, details, err)
			}
			b.wantLoss(err, failure.ReasonDedicatedWorker, "")
			if strings.HasSuffix(name, "panics") {
				mentions(t, err.Error(), "panicked with a string")
			} else {
				mentions(t, err.Error(), "a plugin's own fault")
			}
			b.eventually("the server is closed", func() bool { return tool.sessions() == 0 })
			b.wantConnects("here")
			host.Stop()
		})
	}
}

// An interceptor that panics on a block's queue, before a call or after it, fails
// the attempt and not the call: the next attempt makes it, or gets what it came to.
func TestInterceptorPanicsOnTheBlocksQueue(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*reckless) *atomic.Int32{
		"before the call": func(r *reckless) *atomic.Int32 { return r.before },
		"after the call":  func(r *reckless) *atomic.Int32 { return r.after },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			plugin := newReckless()
			where(plugin).Store(2)
			tool, _ := b.hostHeldBy(plugin)
			tool.open()
			d := b.drive(b.options(longHeartbeat))
			block := d.open()
			tool.wantRanOnce(block, block.beginCall(held, nil))
			if attempt := d.activities(d.run, callTool)[0].started.GetAttempt(); attempt != 3 {
				t.Errorf("the call took %d attempts, want 3", attempt)
			}
		})
	}
}

// hostHeldBy is hostHeld on a client with the plugin, whose interceptor it has too.
func (b *bundle) hostHeldBy(plugin *reckless) (*heldTool, worker.Worker) {
	b.Helper()
	host := *b
	host.client = b.dial(func(o *client.Options) { o.Plugins = []client.Plugin{plugin} })
	options := worker.Options{Interceptors: []interceptor.WorkerInterceptor{plugin}}
	tool, server := b.heldServer()
	return tool, host.host(options, session.Options{Servers: []session.Server{server}})
}
