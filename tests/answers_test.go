package tests

import (
	"encoding/json"
	"log/slog"
	"os"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// An answer that is no result of MCP fails the call that it is for, once, and no
// other: what the tool did is unknown, and the session goes on.
func TestAnswersThatAreNoResults(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"a string":        `"hello"`,
		"a number":        `5`,
		"a list":          `[{"content":[]}]`,
		"strange content": `{"content":"hello"}`,
		"unknown content": `{"content":[{"type":"hologram","data":"AA=="}]}`,
		"broken base64":   `{"content":[{"type":"image","data":"***","mimeType":"image/png"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			w := wire(func(method string, params json.RawMessage) string {
				var call struct{ Name string }
				switch _ = json.Unmarshal(params, &call); {
				case method != "tools/call":
					return ""
				case call.Name == "strange":
					return answer
				}
				return `{"content":[{"type":"text","text":"fine"}]}`
			})
			type seen struct {
				Fault fault
				Next  string
			}
			b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
				err = toolset.With(ctx, toolset.Options{Server: "wire"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
					_, err := ts.CallTool(ctx, "strange", nil)
					got.Fault = faultOf(err)
					got.Next, err = call(ctx, ts, "plain", nil)
					return err
				})
				return got, err
			}, session.Server{Name: "wire", Connect: w.connector})
			run := b.start()
			var got seen
			if err := run.Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if f := got.Fault; f.Type != failure.TypeCall || f.Details.Reason != failure.ReasonNoAnswer || f.Ran != failure.RanUnknown || f.Details.Tool != "strange" {
				t.Errorf("the call ended with %+v", f)
			}
			mentions(t, got.Fault.Text, `"wire"`)
			if got.Next != "fine" {
				t.Errorf("the next call returned %q", got.Next)
			}
			if attempt := b.activities(run, "mcp.wire.call-tool")[0].started.GetAttempt(); attempt != 1 {
				t.Errorf("the call took %d attempts", attempt)
			}
		})
	}
}

// A tool list that never ends is an error, not a loop.
func TestToolListThatNeverEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := wire(func(method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return `{"tools":[{"name":"again","inputSchema":{"type":"object"}}],"nextCursor":"again"}`
		}
		return ""
	})
	b.worker(worker.Options{}, func(ctx workflow.Context) (got fault, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "wire"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			_, err := ts.ListTools(ctx)
			got = faultOf(err)
			return nil
		})
		return got, err
	}, session.Server{Name: "wire", Connect: w.connector})
	var got fault
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != failure.TypeCall || got.Details.Reason != failure.ReasonNoAnswer {
		t.Errorf("ListTools ended with %+v", got)
	}
	mentions(t, got.Text, `"wire"`, "cursor")
}

// A message over the transport's bound can't be skipped, so the session is lost;
// the failure says which option to raise.
func TestMessageOverTheTransportsLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got fault, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			_, err := ts.CallTool(ctx, fixture.Big, fixture.BigArguments{Bytes: 100_000})
			return err
		})
		return faultOf(err), nil
	}, session.Server{
		Name: "counter",
		Connect: transport.CommandWithOptions(transport.CommandOptions{
			Env: fixture.Environ("mcp", ""), MaxMessage: 50_000, Logger: slog.New(slog.DiscardHandler),
		}, os.Args[0]),
	})
	var got fault
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != failure.TypeDedicatedWorker || got.Details.Reason != failure.ReasonServerGone || got.Ran != failure.RanUnknown {
		t.Errorf("the call ended with %+v", got)
	}
	mentions(t, got.Text, "50000 bytes", "MaxMessage")
}

// A connection that breaks in the middle of a message is a lost session, and not a
// bad answer to one call, also over a transport that tells nothing of its server.
func TestConnectionBreaksInAMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := wire(func(method string, _ json.RawMessage) string {
		if method == "tools/call" {
			return "{]"
		}
		return ""
	})
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []fault, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "wire"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for range 2 {
				_, err := ts.CallTool(ctx, "tool", nil)
				got = append(got, faultOf(err))
			}
			return nil
		})
		return append(got, faultOf(err)), nil
	}, session.Server{Name: "wire", Connect: w.connector})
	var got []fault
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	for i, ran := range []failure.ToolRan{failure.RanUnknown, failure.RanNo, failure.RanUnknown} {
		if f := got[i]; f.Type != failure.TypeDedicatedWorker || f.Details.Reason != failure.ReasonServerGone || f.Ran != ran {
			t.Errorf("error %d is %+v, want a loss in which the tool ran: %s", i, f, ran)
		}
	}
}
