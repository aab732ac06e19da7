package scripts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
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

func setup(t *testing.T, codecs ...converter.PayloadCodec) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	options, err := server.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.Logger = quiet{}
	if len(codecs) > 0 {
		options.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codecs...)
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b := &bundle{
		T: t, ctx: ctx, client: c, scratch: t.TempDir(),
		taskQueue: strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + "-" + strings.ToLower(rand.Text()[:8]),
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

// touch makes a file.
func (b *bundle) touch(name string) {
	b.Helper()
	if err := fixture.AppendLine(b.file(name), "now"); err != nil {
		b.Fatal(err)
	}
}

// processes are those that the test has started and that run now.
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
func (b *bundle) awaitLines(name string, n int) {
	b.Helper()
	b.eventually(name+" has its lines", func() bool { return len(fixture.Lines(b.file(name))) >= n })
}

// wantLines fails the test unless a file has that many lines.
func (b *bundle) wantLines(name string, n int) {
	b.Helper()
	if lines := fixture.Lines(b.file(name)); len(lines) != n {
		b.Errorf("%s has %d lines, want %d: %q", name, len(lines), n, lines)
	}
}

// act is the input of scriptAct that notes its beginning in the file "begun".
func (b *bundle) act(then string) act {
	return act{File: b.file("begun"), Then: then, Until: b.file("until"), Began: b.file("began")}
}

// worker starts a worker that runs the test's workflows and serves what the options
// name, if anything.
func (b *bundle) worker(servers ...session.Server) worker.Worker {
	b.Helper()
	o := worker.Options{DeadlockDetectionTimeout: testTimeout}
	if servers != nil {
		o.Plugins = []worker.Plugin{b.plugin(session.Options{Servers: servers})}
	} else {
		o.LocalActivityWorkerOnly = true
	}
	w := worker.New(b.client, b.taskQueue, o)
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
	return w
}

func (b *bundle) plugin(options session.Options) worker.Plugin {
	b.Helper()
	plugin, err := session.NewPlugin(options)
	if err != nil {
		b.Fatal(err)
	}
	return plugin
}

// hosts is the task queue of workers that run no workflows.
func (b *bundle) hosts() string { return b.taskQueue + "-hosts" }

// host starts a worker that runs no workflows.
func (b *bundle) host(options session.Options) worker.Worker {
	b.Helper()
	w := worker.New(b.client, b.hosts(), worker.Options{Plugins: []worker.Plugin{b.plugin(options)}, DisableWorkflowWorker: true})
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

// fast is a retry policy under which a test need not wait.
var fast = &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 3}

// unlimited is one for what ends by itself.
var unlimited = &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumInterval: 10 * time.Millisecond}

// A place is where a script runs.
type place string

const (
	own     place = "own session"
	inBlock place = "block"
)

var places = []place{own, inBlock}

// run begins a workflow that runs a script in a place, and returns what it saw.
func (b *bundle) run(where place, options toolset.ScriptOptions, script string, in any) running[seen] {
	b.Helper()
	if options.Server == "" {
		options.Server = "server"
	}
	return begin(b, func(ctx workflow.Context) (s seen, err error) {
		if where == own {
			out, err := toolset.RunScript[json.RawMessage](ctx, options, script, in)
			return saw(out, err), nil
		}
		err = toolset.With(ctx, toolset.Options{
			Server: options.Server, CallTimeout: options.CallTimeout, ScriptTimeout: options.Timeout, MaxResult: options.MaxResult,
			Session: workflow.ActivityOptions{TaskQueue: options.TaskQueue},
		}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			var out json.RawMessage
			err := ts.Run(ctx, script, in, &out)
			s = saw(out, err)
			if err == nil || failure.IsDedicatedWorker(err) {
				return nil
			}
			// The session lives on.
			again, _ := workflow.NewDisconnectedContext(ctx)
			_, err = ts.CallTool(again, fixture.Get, nil)
			return err
		})
		if failure.IsDedicatedWorker(err) {
			err = nil // as Close has it
		}
		return s, err
	})
}

// A seen is what a workflow saw of a script or a call.
type seen struct {
	Out json.RawMessage
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
	// Number and Word are the details of an OrderFailure.
	Number int
	Word   string
}

func saw(out json.RawMessage, err error) seen {
	if err == nil {
		return seen{Out: out, Ran: failure.RanYes}
	}
	s := seen{Message: err.Error(), Ran: failure.RanOf(err), Canceled: temporal.IsCanceledError(err)}
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		s.Type, s.Retryable = application.Type(), !application.NonRetryable()
		if s.Type == "OrderFailure" {
			_ = application.Details(&s.Number, &s.Word)
		}
	}
	for _, details := range []func(error) (failure.Details, bool){failure.Call, failure.Open, failure.DedicatedWorker, failure.Script} {
		if d, ok := details(err); ok {
			s.Details = d
		}
	}
	if d, ok := failure.MCPProtocol(err); ok {
		s.Code = d.Code
	}
	s.Sizes, _ = failure.ResultTooLarge(err)
	return s
}

// text is what scriptAct returned.
func (s seen) text() string {
	var d done
	_ = json.Unmarshal(s.Out, &d)
	return d.Text
}

// want fails the test unless a failure is of this type, reason and outcome, names its
// server, and leaves the workflow's own retry policy free.
func (b *bundle) want(s seen, failureType string, reason failure.Reason, ran failure.ToolRan) {
	b.Helper()
	if s.Type != failureType || s.Details.Reason != reason || s.Ran != ran {
		b.Errorf("saw %+v; want %s, reason %s, ran %s", s, failureType, reason, ran)
	}
	if s.Type != "" && (!strings.Contains(s.Message, `"server"`) || !s.Retryable) {
		b.Errorf("the failure does not name its server, or is not retryable: %+v", s)
	}
}

// overStdio is the fixture in a process of the owner's.
func overStdio(owner string) transport.Connector {
	return transport.CommandWithOptions(transport.CommandOptions{
		Env:          []string{roleVariable + "=" + roleMCP, ownerVariable + "=" + owner, "GORACE=atexit_sleep_ms=0"},
		Logger:       slog.New(slog.DiscardHandler),
		CloseTimeout: 10 * time.Second, // a slow exit is no fault
	}, os.Args[0])
}

// overHTTP is the fixture over HTTP, with sessions.
func (b *bundle) overHTTP() transport.Connector {
	b.Helper()
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return fixture.New() }, nil))
	b.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return transport.HTTP(s.URL)
}

// counted is a server whose connector adds a line to the bundle's file of connects.
func (b *bundle) counted(connect transport.Connector) session.Server {
	return session.Server{Name: "server", Connect: countingConnects(b.file("connects"), connect)}
}

// stdio is the usual server of a test.
func (b *bundle) stdio() session.Server { return b.counted(overStdio(b.taskQueue)) }

func countingConnects(file string, connect transport.Connector) transport.Connector {
	return func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
		if err := fixture.AppendLine(file, "connect "+string(argument)); err != nil {
			return nil, err
		}
		return connect(ctx, argument)
	}
}

// quiet drops what the SDK logs.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

var _ log.Logger = quiet{}
