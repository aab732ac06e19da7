package tests

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// The session plugin works before and after another plugin, whose changes to the
// worker's options reach the dedicated workers in both orders.
func TestBesideAnotherPlugin(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"before", "after"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ours, err := session.NewPlugin(session.Options{Servers: []session.Server{stdio("counter")}})
			if err != nil {
				t.Fatal(err)
			}
			e := &extension{witness: newWitness()}
			plugins := []worker.Plugin{ours, e}
			if order == "after" {
				slices.Reverse(plugins)
			}
			w := b.worker(worker.Options{Plugins: plugins}, oneCall)
			if err := b.start().Get(b.ctx, nil); err != nil {
				t.Fatal(err)
			}
			w.Stop()
			e.check(t, "the other plugin's interceptor")
		})
	}
}

// One plugin on two workers: both hold sessions, and when one worker stops, the
// other's session lives on.
func TestPluginOnTwoWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{stdio("counter")}})
	if err != nil {
		t.Fatal(err)
	}
	hosts := make([]worker.Worker, 2)
	for i := range hosts {
		hosts[i] = worker.New(b.client, fmt.Sprint(b.taskQueue, "-host-", i), worker.Options{
			Plugins: []worker.Plugin{plugin}, DisableWorkflowWorker: true, Identity: fmt.Sprint("host-", i),
		})
		if err := hosts[i].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(hosts[i].Stop)
	}
	type seen struct {
		Hosts []string
		Count string
		Lost  fault
	}
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		blocks := make([]*toolset.Toolset, 2)
		for i := range blocks {
			if blocks[i], err = toolset.Open(ctx, toolset.Options{Server: "counter", Session: workflow.ActivityOptions{
				TaskQueue: fmt.Sprint(b.taskQueue, "-host-", i),
			}}); err != nil {
				return got, err
			}
			got.Hosts = append(got.Hosts, blocks[i].Info().Host)
			if _, err := call(ctx, blocks[i], fixture.Incr, nil); err != nil {
				return got, err
			}
		}
		if err := await(ctx, "stop the first"); err != nil {
			return got, err
		}
		if got.Count, err = call(ctx, blocks[1], fixture.Incr, nil); err != nil {
			return got, err
		}
		got.Lost = faultOf(blocks[0].Close(ctx))
		return got, blocks[1].Close(ctx)
	})
	activityNamed(w, "stop the first", func() error { hosts[0].Stop(); return nil })
	var got seen
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Hosts, []string{"host-0", "host-1"}) || got.Count != "2" {
		t.Errorf("the sessions were on %q, the second one's counter is %q", got.Hosts, got.Count)
	}
	if got.Lost.Details.Reason != "worker-stopped" || got.Lost.Details.Host != "host-0" {
		t.Errorf("the block of the stopped worker ended with %+v", got.Lost)
	}
}

// Register alone makes a worker hold sessions, too.
func TestRegisterWithoutThePlugin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := worker.New(b.client, b.taskQueue, worker.Options{})
	if err := session.Register(w, stdio("other"), stdio("counter")); err != nil {
		t.Fatal(err)
	}
	w.RegisterWorkflowWithOptions(oneCall, workflowOptions("test"))
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	var got string
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got != "1" {
		t.Errorf("the counter is %q", got)
	}
}

// A tenantPropagator carries a tenant's name from workflows to activities.
type tenantPropagator struct{}

type tenantKey struct{}

func (tenantPropagator) Inject(ctx context.Context, w workflow.HeaderWriter) error {
	return writeTenant(ctx.Value(tenantKey{}), w)
}

func (tenantPropagator) InjectFromWorkflow(ctx workflow.Context, w workflow.HeaderWriter) error {
	return writeTenant(ctx.Value(tenantKey{}), w)
}

func writeTenant(tenant any, w workflow.HeaderWriter) error {
	name, ok := tenant.(string)
	if !ok {
		return nil
	}
	payload, err := converter.GetDefaultDataConverter().ToPayload(name)
	if err == nil {
		w.Set("tenant", payload)
	}
	return err
}

func readTenant(r workflow.HeaderReader) (name string, err error) {
	err = r.ForEachKey(func(key string, payload *commonpb.Payload) error {
		if key != "tenant" {
			return nil
		}
		return converter.GetDefaultDataConverter().FromPayload(payload, &name)
	})
	return name, err
}

func (tenantPropagator) Extract(ctx context.Context, r workflow.HeaderReader) (context.Context, error) {
	name, err := readTenant(r)
	return context.WithValue(ctx, tenantKey{}, name), err
}

func (tenantPropagator) ExtractToWorkflow(ctx workflow.Context, r workflow.HeaderReader) (workflow.Context, error) {
	name, err := readTenant(r)
	return workflow.WithValue(ctx, tenantKey{}, name), err
}

// tenants notes under which tenant activities ran.
type tenants struct {
	interceptor.InterceptorBase
	mu   sync.Mutex
	seen map[string]string
}

func (n *tenants) InterceptActivity(ctx context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &tenantActivity{tenants: n}
	i.Next = next
	return i
}

type tenantActivity struct {
	interceptor.ActivityInboundInterceptorBase
	*tenants
}

func (a *tenantActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	a.note(ctx, activityTypeOf(ctx))
	return a.Next.ExecuteActivity(ctx, in)
}

func (n *tenants) note(ctx context.Context, what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen[what], _ = ctx.Value(tenantKey{}).(string)
}

// What a context propagator carries reaches the connector, which may choose a
// server by it, and every operation.
func TestContextPropagator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client = b.dial(func(o *client.Options) { o.ContextPropagators = []workflow.ContextPropagator{tenantPropagator{}} })
	noted := &tenants{seen: make(map[string]string)}
	connect := transport.InMemory(func(transport.Argument) *mcp.Server { return fixture.New() })
	w := b.worker(worker.Options{Interceptors: []interceptor.WorkerInterceptor{noted}}, oneCall, session.Server{
		Name: "counter",
		Connect: func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
			noted.note(ctx, "connector")
			return connect(ctx, arg)
		},
	})
	run, err := b.client.ExecuteWorkflow(context.WithValue(b.ctx, tenantKey{}, "tenant-7"),
		client.StartWorkflowOptions{TaskQueue: b.taskQueue, ID: b.taskQueue}, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Get(b.ctx, nil); err != nil {
		t.Fatal(err)
	}
	w.Stop()
	for _, where := range append([]string{"connector"}, oneCallActivities...) {
		if got := noted.seen[where]; got != "tenant-7" {
			t.Errorf("%s ran under tenant %q", where, got)
		}
	}
}
