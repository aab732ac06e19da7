package scripts

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
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

// A bundle is what one test has to itself.
type bundle struct{ *fixture.Bundle }

func setup(t *testing.T, codecs ...converter.PayloadCodec) *bundle {
	t.Helper()
	return &bundle{fixture.Setup(t, server, testTimeout, func(options *client.Options) {
		if len(codecs) > 0 {
			options.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codecs...)
		}
	})}
}

// touch makes a file.
func (b *bundle) touch(name string) {
	b.Helper()
	if err := fixture.AppendLine(b.File(name), "now"); err != nil {
		b.Fatal(err)
	}
}

// awaitLines returns once a file has that many lines.
func (b *bundle) awaitLines(name string, n int) {
	b.Helper()
	b.AwaitLines(b.File(name), n)
}

// wantLines fails the test unless a file has that many lines.
func (b *bundle) wantLines(name string, n int) {
	b.Helper()
	if lines := fixture.Lines(b.File(name)); len(lines) != n {
		b.Errorf("%s has %d lines, want %d: %q", name, len(lines), n, lines)
	}
}

// act is the input of scriptAct that notes its beginning in the file "begun".
func (b *bundle) act(then string) act {
	return act{File: b.File("begun"), Then: then, Until: b.File("until"), Began: b.File("began")}
}

// worker starts a worker that runs the test's workflows and serves the servers, if
// there are any.
func (b *bundle) worker(servers ...session.Server) worker.Worker {
	b.Helper()
	o := worker.Options{LocalActivityWorkerOnly: servers == nil}
	if servers != nil {
		o.Plugins = []worker.Plugin{b.Plugin(session.Options{Servers: servers})}
	}
	return b.StartWorker(b.NewWorker(o))
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
func (b *bundle) run(where place, options toolset.ScriptOptions, script string, in any) fixture.Running[seen] {
	b.Helper()
	if options.Server == "" {
		options.Server = "server"
	}
	return fixture.Begin(b.Bundle, func(ctx workflow.Context) (s seen, err error) {
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
	fixture.Outcome
	// Number and Word are the details of an OrderFailure.
	Number int
	Word   string
}

func saw(out json.RawMessage, err error) seen {
	s := seen{Out: out, Outcome: fixture.OutcomeOf(err)}
	var application *temporal.ApplicationError
	if errors.As(err, &application) && s.Type == "OrderFailure" {
		_ = application.Details(&s.Number, &s.Word)
	}
	return s
}

// text is what scriptAct returned.
func (s seen) text() string {
	var d done
	_ = json.Unmarshal(s.Out, &d)
	return d.Text
}

// want fails the test unless a failure is of this type, reason and outcome.
func (b *bundle) want(s seen, failureType string, reason failure.Reason, ran failure.ToolRan) {
	b.Helper()
	s.Want(b, failureType, reason, ran)
}

// overStdio is the fixture in a process of the owner's.
func overStdio(owner string) transport.Connector { return fixture.Stdio(roleMCP, owner) }

// overHTTP is the fixture over HTTP, with sessions.
func (b *bundle) overHTTP() transport.Connector {
	b.Helper()
	return transport.HTTP(b.Serve(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return fixture.New() }, nil)))
}

// counted is a server whose connector adds a line to the bundle's file of connects.
func (b *bundle) counted(connect transport.Connector) session.Server {
	return session.Server{Name: "server", Connect: fixture.Counting(b.File("connects"), connect)}
}

// stdio is the usual server of a test.
func (b *bundle) stdio() session.Server { return b.counted(overStdio(b.TaskQueue)) }
