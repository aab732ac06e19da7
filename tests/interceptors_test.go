package tests

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// oneCall is a workflow whose block makes one call.
func oneCall(ctx workflow.Context) (got string, err error) {
	err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		got, err = call(ctx, ts, fixture.Incr, nil)
		return err
	})
	return got, err
}

// oneCallActivities are the activities of oneCall.
var oneCallActivities = []string{"mcp.counter.call-tool", "mcp.counter.close-session", "mcp.counter.session", "mcp.counter.session-info"}

// A witness is an interceptor that notes each activity that it sees.
type witness struct {
	interceptor.InterceptorBase
	mu   sync.Mutex
	seen map[string]int // by activity type
}

func newWitness() *witness { return &witness{seen: make(map[string]int)} }

func (w *witness) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &witnessActivity{witness: w}
	i.Next = next
	return i
}

type witnessActivity struct {
	interceptor.ActivityInboundInterceptorBase
	witness *witness
}

func (w *witnessActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	w.witness.mu.Lock()
	w.witness.seen[activityTypeOf(ctx)]++
	w.witness.mu.Unlock()
	return w.Next.ExecuteActivity(ctx, in)
}

// check fails the test unless the witness saw each activity of oneCall once.
func (w *witness) check(t *testing.T, who string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if types := slices.Sorted(maps.Keys(w.seen)); !slices.Equal(types, oneCallActivities) {
		t.Errorf("%s saw the activities %q, want %q", who, types, oneCallActivities)
	}
	for name, n := range w.seen {
		if n != 1 {
			t.Errorf("%s saw %s %d times", who, name, n)
		}
	}
}

// An extension is a plugin of somebody else that brings an interceptor. It may be
// installed on a worker or on a client.
type extension struct {
	clientBase
	workerBase
	*witness
	mu                           sync.Mutex
	configured, started, stopped []string // task queues
}

type (
	clientBase = client.PluginBase
	workerBase = worker.PluginBase
)

func (e *extension) Name() string { return "tests.extension" }

func (e *extension) ConfigureWorker(_ context.Context, o worker.PluginConfigureWorkerOptions) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.configured = append(e.configured, o.TaskQueue)
	o.WorkerOptions.Interceptors = append(o.WorkerOptions.Interceptors, e.witness)
	return nil
}

func (e *extension) StartWorker(ctx context.Context, o worker.PluginStartWorkerOptions, next func(context.Context, worker.PluginStartWorkerOptions) error) error {
	err := next(ctx, o)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = append(e.started, "")
	return err
}

func (e *extension) StopWorker(ctx context.Context, o worker.PluginStopWorkerOptions, next func(context.Context, worker.PluginStopWorkerOptions)) {
	next(ctx, o)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = append(e.stopped, "")
}

// An interceptor sees the session activity and every operation once, wherever it
// was installed: in the worker's options, in the client's, by a plugin of either.
func TestInterceptorsSeeEveryActivityOnce(t *testing.T) {
	t.Parallel()
	for name, install := range map[string]func(*client.Options, *worker.Options, *extension){
		"worker options": func(_ *client.Options, w *worker.Options, e *extension) {
			w.Interceptors = []interceptor.WorkerInterceptor{e.witness}
		},
		"client options": func(c *client.Options, _ *worker.Options, e *extension) {
			c.Interceptors = []interceptor.ClientInterceptor{e.witness}
		},
		"worker plugin": func(_ *client.Options, w *worker.Options, e *extension) { w.Plugins = []worker.Plugin{e} },
		"client plugin": func(c *client.Options, _ *worker.Options, e *extension) { c.Plugins = []client.Plugin{e} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			e := &extension{witness: newWitness()}
			var workerOptions worker.Options
			b.client = b.dial(func(o *client.Options) { install(o, &workerOptions, e) })
			w := b.worker(workerOptions, oneCall, stdio("counter"))
			if err := b.start().Get(b.ctx, nil); err != nil {
				t.Fatal(err)
			}
			w.Stop()
			e.check(t, "the interceptor in the "+name)
			if name == "worker plugin" && (!slices.Equal(e.configured, []string{b.taskQueue}) || len(e.started) != 1 || len(e.stopped) != 1) {
				t.Errorf("the plugin configured %q, started %d and stopped %d workers; dedicated ones are not its own", e.configured, len(e.started), len(e.stopped))
			}
		})
	}
}

// A tracer is a tracing system in a few lines. A span is its trace and its name.
type tracer struct {
	interceptor.BaseTracer
	mu    sync.Mutex
	spans []*span
}

type span struct {
	Trace, Name string
	parent      string
}

func (*span) Finish(*interceptor.TracerFinishSpanOptions) {}

type spanKey struct{}

func (*tracer) Options() interceptor.TracerOptions {
	return interceptor.TracerOptions{SpanContextKey: spanKey{}, HeaderKey: "test-trace"}
}

func (*tracer) UnmarshalSpan(m map[string]string) (interceptor.TracerSpanRef, error) {
	return &span{Trace: m["trace"], Name: m["name"]}, nil
}

func (*tracer) MarshalSpan(s interceptor.TracerSpan) (map[string]string, error) {
	return map[string]string{"trace": s.(*span).Trace, "name": s.(*span).Name}, nil
}

func (*tracer) SpanFromContext(ctx context.Context) interceptor.TracerSpan {
	if s, ok := ctx.Value(spanKey{}).(*span); ok {
		return s
	}
	return nil
}

func (*tracer) ContextWithSpan(ctx context.Context, s interceptor.TracerSpan) context.Context {
	return context.WithValue(ctx, spanKey{}, s)
}

func (t *tracer) StartSpan(o *interceptor.TracerStartSpanOptions) (interceptor.TracerSpan, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &span{Name: o.Operation + ":" + o.Name}
	if parent, ok := o.Parent.(*span); ok && parent != nil {
		s.Trace, s.parent = parent.Trace, parent.Name
	} else {
		// A workflow that is replayed starts its own span anew, with the same key.
		s.Trace = cmp.Or(o.IdempotencyKey, fmt.Sprint("trace-", len(t.spans)))
	}
	t.spans = append(t.spans, s)
	return s, nil
}

// A trace goes through a block unbroken: the session and each operation are spans
// under the workflow's, on the dedicated worker too, and each once.
func TestTracingThroughABlock(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"worker", "client"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			spans := &tracer{}
			tracing := interceptor.NewTracingInterceptor(spans)
			var workerOptions worker.Options
			b.client = b.dial(func(o *client.Options) {
				if place == "client" {
					o.Interceptors = []interceptor.ClientInterceptor{tracing}
				} else {
					workerOptions.Interceptors = []interceptor.WorkerInterceptor{tracing}
				}
			})
			w := b.worker(workerOptions, oneCall, stdio("counter"))
			if err := b.start().Get(b.ctx, nil); err != nil {
				t.Fatal(err)
			}
			w.Stop()
			ran := make(map[string]int)
			traces := make(map[string]bool)
			for _, s := range spans.spans {
				traces[s.Trace] = true
				ran[s.parent+" > "+s.Name]++
			}
			if len(traces) != 1 {
				t.Errorf("the spans are in %d traces: %v", len(traces), ran)
			}
			for _, a := range oneCallActivities {
				if n := ran["StartActivity:"+a+" > RunActivity:"+a]; n != 1 {
					t.Errorf("activity %s has %d spans under its start", a, n)
				}
				if n := ran["RunWorkflow:test > StartActivity:"+a]; n != 1 {
					t.Errorf("activity %s was started by %d spans under the workflow's", a, n)
				}
			}
		})
	}
}
