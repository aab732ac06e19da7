package stateless

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
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
	b.Cleanup(func() {
		if len(b.processes()) > 0 {
			b.eventually("the processes of the test are gone", func() bool { return len(b.processes()) == 0 })
		}
	})
	return b
}

// file is a file of the test's.
func (b *bundle) file(name string) string { return filepath.Join(b.scratch, name) }

// processes are those that the test has started and that run now. Only Linux shows
// them.
func (b *bundle) processes() []int { return fixture.Owned(ownerVariable, b.taskQueue) }

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

// awaitLines returns once a file has that many lines.
func (b *bundle) awaitLines(file string, n int) {
	b.Helper()
	b.eventually(filepath.Base(file)+" has its lines", func() bool { return len(fixture.Lines(file)) >= n })
}

// worker starts a worker that runs the test's workflows, and serves what the options
// name, if anything.
func (b *bundle) worker(options session.Options) worker.Worker {
	b.Helper()
	o := worker.Options{DeadlockDetectionTimeout: testTimeout}
	if options.Servers != nil {
		plugin, err := session.NewPlugin(options)
		if err != nil {
			b.Fatal(err)
		}
		o.Plugins = []worker.Plugin{plugin}
	}
	w := worker.New(b.client, b.taskQueue, o)
	b.startWorker(w)
	return w
}

func (b *bundle) startWorker(w worker.Worker) {
	b.Helper()
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, index int) (json.RawMessage, error) {
		b.mu.Lock()
		body := b.bodies[index]
		b.mu.Unlock()
		return body(ctx)
	}, workflow.RegisterOptions{Name: "test"})
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
}

// A running is a workflow that returns a T.
type running[T any] struct {
	*bundle
	client.WorkflowRun
}

// begin starts a workflow with a client of these options.
func begin[T any](b *bundle, options stateless.Options, body func(workflow.Context, *stateless.Client) (T, error)) running[T] {
	b.Helper()
	if options.Server == "" {
		options.Server = "server"
	}
	return beginPlain(b, func(ctx workflow.Context) (result T, err error) {
		c, err := stateless.New(ctx, options)
		if err != nil {
			return result, err
		}
		return body(ctx, c)
	})
}

// beginPlain starts a workflow.
func beginPlain[T any](b *bundle, body func(workflow.Context) (T, error)) running[T] {
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

// do runs a workflow and returns what it returned.
func do[T any](b *bundle, options stateless.Options, body func(workflow.Context, *stateless.Client) (T, error)) T {
	b.Helper()
	return begin(b, options, body).result()
}

// A seen is what a workflow saw of a call.
type seen struct {
	Text    string
	IsError bool
	// Of a failure:
	Type     string
	Message  string
	Details  failure.Details
	Sizes    failure.SizeDetails
	Code     int64
	Ran      failure.ToolRan
	Canceled bool
	// Retryable says whether the workflow's own retry policy is free.
	Retryable bool
}

// call calls a tool.
func call(ctx workflow.Context, c *stateless.Client, tool string, arguments any) seen {
	result, err := c.CallTool(ctx, tool, arguments)
	if err != nil {
		return sawFailure(err)
	}
	return seen{Text: fixture.Text(result), IsError: result.IsError, Ran: failure.RanYes}
}

func sawFailure(err error) seen {
	s := seen{Message: err.Error(), Ran: failure.RanOf(err), Canceled: temporal.IsCanceledError(err)}
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		s.Type, s.Retryable = application.Type(), !application.NonRetryable()
	}
	if d, ok := failure.Call(err); ok {
		s.Details = d
	} else if d, ok := failure.Open(err); ok {
		s.Details = d
	}
	if d, ok := failure.MCPProtocol(err); ok {
		s.Code = d.Code
	}
	s.Sizes, _ = failure.ResultTooLarge(err)
	return s
}

// once is a workflow that makes one call.
func once(tool string, arguments any) func(workflow.Context, *stateless.Client) (seen, error) {
	return func(ctx workflow.Context, c *stateless.Client) (seen, error) {
		return call(ctx, c, tool, arguments), nil
	}
}

// want fails the test unless a failure is of this type, reason and outcome, names its
// server, and leaves the workflow's own retry policy free.
func (b *bundle) want(s seen, failureType string, reason failure.Reason, ran failure.ToolRan) {
	b.Helper()
	if s.Type != failureType || s.Details.Reason != reason || s.Ran != ran {
		b.Errorf("saw %+v; want %s, reason %s, tool ran %s", s, failureType, reason, ran)
	}
	if s.Type != "" && (!strings.Contains(s.Message, `"server"`) || !s.Retryable) {
		b.Errorf("the failure does not name its server, or is not retryable: %+v", s)
	}
}

// quiet drops what the SDK logs.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

var _ log.Logger = quiet{}
