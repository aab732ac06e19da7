package stateless

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

func killProcess(pid int) {
	if process, err := os.FindProcess(pid); err == nil {
		_ = process.Kill()
	}
}

// What a server answers is a call's outcome at its first attempt: a result with
// IsError is a result, a JSON-RPC error is told with its code, and neither ends the
// connection. (C8, C18)
func TestAnswersAreFinal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.TaskQueue))}})
	run := begin(b, stateless.Options{Repeatable: map[string]bool{fixture.Fail: true, fixture.Refuse: true}},
		func(ctx workflow.Context, c *stateless.Client) ([]seen, error) {
			return []seen{call(ctx, c, fixture.Fail, nil), call(ctx, c, fixture.Refuse, nil), call(ctx, c, fixture.Get, nil)}, nil
		})
	all := run.Result()
	if !all[0].IsError || all[0].Text != "the tool failed" {
		t.Errorf("IsError came as %+v", all[0])
	}
	if b.want(all[1], failure.TypeMCPProtocol, "", failure.RanUnknown); all[1].Code != -32602 {
		t.Errorf("the JSON-RPC error came as %+v", all[1])
	}
	if all[2].Text != "0" || b.connects() != 1 {
		t.Errorf("the call after them saw %+v, in %d connections", all[2], b.connects())
	}
	b.WantAttempts(run, 1, 1, 1)
}

// fast is a retry policy under which a test need not wait.
var fast = &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, MaximumAttempts: 3}

// How often a tool runs whose server dies before it answers: once, unless it may be
// repeated, as the server, its policy or the caller says; and a caller's word against
// it wins. A retry policy for all operations says nothing of a tool. (C8, C10)
func TestAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool    string
		listed  bool
		options stateless.Options
		runs    int
	}{
		"unmarked":                     {effect, true, stateless.Options{}, 1},
		"unmarked, a policy for all":   {effect, true, stateless.Options{Operation: workflow.ActivityOptions{RetryPolicy: fast}}, 1},
		"unmarked, its own policy":     {effect, false, stateless.Options{Tools: policyOf(effect)}, 3},
		"unmarked, said to be so":      {effect, false, stateless.Options{Operation: workflow.ActivityOptions{RetryPolicy: fast}, Repeatable: map[string]bool{effect: true}}, 3},
		"read-only, listed":            {effectReadOnly, true, stateless.Options{Operation: workflow.ActivityOptions{RetryPolicy: fast}}, 3},
		"idempotent, listed":           {effectIdempotent, true, stateless.Options{Operation: workflow.ActivityOptions{RetryPolicy: fast}}, 3},
		"read-only, not listed":        {effectReadOnly, false, stateless.Options{Operation: workflow.ActivityOptions{RetryPolicy: fast}}, 1},
		"idempotent, not to be run so": {effectIdempotent, true, stateless.Options{Tools: policyOf(effectIdempotent), Repeatable: map[string]bool{effectIdempotent: false}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.TaskQueue))}})
			arguments := fixture.AppendArguments{File: b.File("effects"), Line: "ran", Exit: true}
			s := do(b, test.options, func(ctx workflow.Context, c *stateless.Client) (seen, error) {
				if test.listed {
					if _, err := c.ListTools(ctx); err != nil {
						return seen{}, err
					}
				}
				return call(ctx, c, test.tool, arguments), nil
			})
			b.want(s, failure.TypeCall, failure.ReasonServerGone, failure.RanUnknown)
			if !strings.Contains(s.Message, "exited with status 7") {
				t.Errorf("the failure does not say how the server ended: %s", s.Message)
			}
			if n := len(fixture.Lines(arguments.File)); n != test.runs {
				t.Errorf("the tool ran %d times, want %d", n, test.runs)
			}
		})
	}
}

// What HTTP does to a call. A refusal for now is tried again, as no tool ran. A
// connection that is cut before the answer is not used again; the call is made again
// only if that is allowed. (C8, C10, C12)
func TestHTTPFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status     int // of the first answer to a call; 0 lets all run, and cuts them before their answer
		repeatable bool
		want       failure.Reason // none for a result
		ran        failure.ToolRan
		runs       int
		connects   int // also of one call after
		attempt    int32
	}{
		"503":             {status: http.StatusServiceUnavailable, runs: 1, connects: 1, attempt: 2},
		"403":             {status: http.StatusForbidden, want: failure.ReasonForbidden, ran: failure.RanNo, runs: 0, connects: 2, attempt: 1},
		"502":             {status: http.StatusBadGateway, want: failure.ReasonGateway, ran: failure.RanUnknown, runs: 0, connects: 2, attempt: 1},
		"502, repeatable": {status: http.StatusBadGateway, repeatable: true, runs: 1, connects: 2, attempt: 2},
		"cut":             {want: failure.ReasonNoAnswer, ran: failure.RanUnknown, runs: 1, connects: 2, attempt: 1},
		"cut, repeatable": {repeatable: true, want: failure.ReasonNoAnswer, ran: failure.RanUnknown, runs: 3, connects: 4, attempt: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, &mcp.StreamableHTTPOptions{Stateless: true})
			var calls atomic.Int32
			url := b.Serve(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				body, _ := io.ReadAll(request.Body)
				request.Body = io.NopCloser(bytes.NewReader(body))
				if !bytes.Contains(body, []byte(`"name":"`+effect+`"`)) {
					inner.ServeHTTP(w, request)
					return
				}
				switch first := calls.Add(1) == 1; {
				case test.status == 0:
					inner.ServeHTTP(httptest.NewRecorder(), request)
					panic(http.ErrAbortHandler)
				case first:
					http.Error(w, "not now", test.status)
				default:
					inner.ServeHTTP(w, request)
				}
			}))
			// A 403 makes a call look for a connection with other credentials, once it has
			// one that was used before: so this call is the first on its connection.
			b.worker(session.Options{Servers: []session.Server{b.counted(transport.HTTP(url))}})
			arguments := fixture.AppendArguments{File: b.File("effects"), Line: "ran"}
			options := stateless.Options{Operation: workflow.ActivityOptions{RetryPolicy: fast}, Repeatable: map[string]bool{effect: test.repeatable}}
			run := begin(b, options, once(effect, arguments))
			s := run.Result()
			if test.want != "" {
				b.want(s, failure.TypeCall, test.want, test.ran)
			} else if s.Text != "ran" {
				t.Errorf("the call saw %+v", s)
			}
			if after := do(b, options, once(fixture.Get, nil)); after.Text != "0" {
				t.Errorf("the call after it saw %+v", after)
			}
			if n := len(fixture.Lines(arguments.File)); n != test.runs || b.connects() != test.connects {
				t.Errorf("the tool ran %d times, in %d connections; want %d, %d", n, b.connects(), test.runs, test.connects)
			}
			b.WantAttempts(run, test.attempt)
		})
	}
}

func policyOf(tool string) map[string]workflow.ActivityOptions {
	return map[string]workflow.ActivityOptions{tool: {RetryPolicy: fast}}
}

// A connection that can't be opened is tried again, and the tool then runs once. One
// that never can is an OpenFailure after the policy's attempts, and no tool ran. What
// no retry mends is told at the first.
func TestOpening(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failures int32
		err      error
		attempt  int32
		reason   failure.Reason
	}{
		"at the third attempt": {2, errors.New("not yet"), 3, ""},
		"never":                {1000, errors.New("not yet"), 3, failure.ReasonConnect},
		"for good":             {1000, transport.Permanent("no-license", errors.New("the license is over")), 1, "no-license"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			connect := fixture.Failing(test.failures, test.err, overStdio(b.TaskQueue))
			b.worker(session.Options{Servers: []session.Server{{Name: "server", Connect: connect}}})
			arguments := fixture.AppendArguments{File: b.File("effects"), Line: "ran"}
			run := begin(b, stateless.Options{Operation: workflow.ActivityOptions{RetryPolicy: fast}}, once(effect, arguments))
			s := run.Result()
			runs := 0
			if test.reason == "" {
				runs = 1
				if s.Text != "ran" {
					t.Errorf("the call saw %+v", s)
				}
			} else {
				b.want(s, failure.TypeOpen, test.reason, failure.RanNo)
			}
			b.WantAttempts(run, test.attempt)
			if n := len(fixture.Lines(arguments.File)); n != runs {
				t.Errorf("the tool ran %d times, want %d", n, runs)
			}
		})
	}
}

// What an attempt has to know of the one before it does not rest on the retry policy
// alone: under one that retries everything, an attempt that comes after a killed worker
// refuses a call that may be made only once, and so does the attempt that a workflow
// reset makes in the run after. (C10)
func TestLaterAttemptsRefuse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Options{})
	host := b.startHost()
	arguments := fixture.AppendArguments{File: b.File("effects"), Line: "ran", Sleep: testTimeout}
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (seen, error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: b.Hosts(), HeartbeatTimeout: 3 * time.Second, StartToCloseTimeout: testTimeout, RetryPolicy: fast,
		})
		err := workflow.ExecuteActivity(ctx, queue.StatelessActivity("server", queue.OperationCallTool), queue.Stateless[queue.CallTool]{
			Operation: queue.CallTool{
				Operation: queue.Operation{RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID, Timeout: testTimeout},
				Tool:      effect, Arguments: raw,
			},
		}).Get(ctx, nil)
		return sawFailure(failure.Rewrap(err)), nil
	})
	b.AwaitLines(arguments.File, 1)
	b.startHost()
	host.Kill()
	b.want(run.Result(), failure.TypeCall, failure.ReasonHostLost, failure.RanUnknown)
	b.WantAttempts(run, 2)
	if n := len(fixture.Lines(arguments.File)); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

// A workflow that is reset while a call is pending gets its activity once more, in the
// run after. That does not make the call again.
func TestWorkflowReset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.TaskQueue))}})
	arguments := fixture.AppendArguments{File: b.File("effects"), Line: "ran", Sleep: testTimeout}
	run := begin(b, stateless.Options{}, func(ctx workflow.Context, c *stateless.Client) (seen, error) {
		pending := c.CallToolAsync(ctx, effect, arguments)
		workflow.GetSignalChannel(ctx, "go on").Receive(ctx, nil)
		return sawFailure(pending.Get(ctx, nil)), nil
	})
	b.AwaitLines(arguments.File, 1)
	run.Signal("go on")
	again := run.ResetTo(2) // after the call was scheduled
	b.want(again.Result(), failure.TypeCall, failure.ReasonWorkflowReset, failure.RanUnknown)
	if n := len(fixture.Lines(arguments.File)); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

// A worker that is killed between a tool's effect and its answer is told by its
// missing heartbeats, long before the activity's timeout. The tool does not run again,
// though another worker is there, unless it may be repeated. (C10)
func TestWorkerIsKilled(t *testing.T) {
	t.Parallel()
	for name, repeatable := range map[string]bool{"once": false, "repeatable": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(session.Options{})
			host := b.startHost()
			arguments := fixture.AppendArguments{File: b.File("effects"), Line: "ran", Sleep: testTimeout}
			run := begin(b, stateless.Options{
				TaskQueue: b.Hosts(), Repeatable: map[string]bool{effect: repeatable},
				Operation: workflow.ActivityOptions{HeartbeatTimeout: 3 * time.Second}, CallTimeout: testTimeout,
			}, once(effect, arguments))
			b.AwaitLines(arguments.File, 1)
			b.startHost()
			host.Kill()
			if repeatable {
				b.AwaitLines(arguments.File, 2)
				if err := b.Client.TerminateWorkflow(b.Ctx, run.GetID(), run.GetRunID(), "seen enough"); err != nil {
					t.Fatal(err)
				}
				return
			}
			b.want(run.Result(), failure.TypeCall, failure.ReasonHostLost, failure.RanUnknown)
			if n := len(fixture.Lines(arguments.File)); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}
