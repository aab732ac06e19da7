package warm

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// testTimeout bounds every test: a hang is a failure, told by name.
const testTimeout = 3 * time.Minute

// A bundle is what one test has to itself: a client, a task queue, workers, files.
type bundle struct {
	*testing.T
	ctx       context.Context
	client    client.Client
	taskQueue string
	scratch   string

	mu     sync.Mutex
	bodies []func(workflow.Context) (json.RawMessage, error)
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	options, err := server.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.Logger = quiet{}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b := &bundle{
		T: t, ctx: ctx, client: c, scratch: t.TempDir(),
		taskQueue: strings.ReplaceAll(t.Name(), "/", "-") + "-" + strings.ToLower(rand.Text()[:8]),
	}
	b.Cleanup(func() { b.eventually("the processes of the test are gone", b.nobody) })
	return b
}

// file is a file of the test's.
func (b *bundle) file(name string) string { return filepath.Join(b.scratch, name) }

// processes are those that the test has started and that run now. Only Linux shows
// them.
func (b *bundle) processes() []int { return fixture.Owned(ownerVariable, b.taskQueue) }

func (b *bundle) nobody() bool { return len(b.processes()) == 0 }

// wantNobody fails the test if a process of it runs.
func (b *bundle) wantNobody(when string) {
	b.Helper()
	if left := b.processes(); len(left) > 0 {
		b.Errorf("processes %v were there %s", left, when)
	}
}

func (b *bundle) signal(pid int, signal syscall.Signal) {
	b.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		b.Fatal(err)
	}
}

// eventually returns once the condition holds.
func (b *bundle) eventually(what string, condition func() bool) {
	b.Helper()
	for !condition() {
		select {
		case <-b.ctx.Done():
			b.Fatalf("in vain awaited: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// worker starts a worker that runs the test's workflows and holds sessions of servers.
func (b *bundle) worker(servers ...session.Server) worker.Worker {
	b.Helper()
	plugin, err := session.NewPlugin(session.Options{Servers: servers})
	if err != nil {
		b.Fatal(err)
	}
	return b.startWorker(b.newWorker(worker.Options{Plugins: []worker.Plugin{plugin}}))
}

func (b *bundle) newWorker(options worker.Options) worker.Worker {
	options.DeadlockDetectionTimeout = testTimeout
	w := worker.New(b.client, b.taskQueue, options)
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, index int) (json.RawMessage, error) {
		b.mu.Lock()
		body := b.bodies[index]
		b.mu.Unlock()
		return body(ctx)
	}, workflow.RegisterOptions{Name: "test"})
	return w
}

func (b *bundle) startWorker(w worker.Worker) worker.Worker {
	b.Helper()
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	return w
}

// A running is a workflow that returns a T.
type running[T any] struct {
	*bundle
	client.WorkflowRun
}

// begin starts a workflow.
func begin[T any](b *bundle, body func(workflow.Context) (T, error)) running[T] {
	b.Helper()
	b.mu.Lock()
	index := len(b.bodies)
	b.bodies = append(b.bodies, func(ctx workflow.Context) (json.RawMessage, error) {
		result, err := body(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	})
	b.mu.Unlock()
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{
		TaskQueue: b.taskQueue, ID: b.taskQueue + "-" + rand.Text()[:8], WorkflowExecutionTimeout: testTimeout,
	}, "test", index)
	if err != nil {
		b.Fatal(err)
	}
	return running[T]{b, run}
}

// result returns what the workflow returned.
func (r running[T]) result() (result T) {
	r.Helper()
	var raw json.RawMessage
	if err := r.Get(r.ctx, &raw); err != nil {
		r.Fatal(err)
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		r.Fatal(err)
	}
	return result
}

// A visit is what a workflow saw of a block that counts once.
type visit struct {
	Pid   int
	Count string // of a server that nobody has used before, 1
	Env   string
}

// block opens a block, looks round, and closes it.
func (b *bundle) block(options toolset.Options) running[visit] {
	b.Helper()
	return begin(b, func(ctx workflow.Context) (visit, error) { return look(ctx, options) })
}

func look(ctx workflow.Context, options toolset.Options) (v visit, err error) {
	options.Server = "server"
	err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if v.Count, err = call(ctx, ts, fixture.Incr); err != nil {
			return err
		}
		pid, err := call(ctx, ts, fixture.Pid)
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(pid, &v.Pid); err != nil {
			return err
		}
		v.Env, err = call(ctx, ts, fixture.Env)
		return err
	})
	return v, err
}

func call(ctx workflow.Context, ts *toolset.Toolset, tool string) (string, error) {
	result, err := ts.CallTool(ctx, tool, nil)
	return fixture.Text(result), err
}

// quiet drops what the SDK logs.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

var _ log.Logger = quiet{}
