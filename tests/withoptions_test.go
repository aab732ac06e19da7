package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// Options are given for a server, a block, a tool and a call, and the later wins
// field by field; the calls go to one session.
func TestOptionsOfEachLevel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ofServer := toolset.Options{
		Server:      "counter",
		CallTimeout: 11 * time.Second,
		Operation:   workflow.ActivityOptions{Summary: "of the server", Priority: temporal.Priority{PriorityKey: 2}},
		Tools:       map[string]workflow.ActivityOptions{fixture.Incr: {StartToCloseTimeout: 41 * time.Second}},
	}
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []string, err error) {
		options := ofServer.Override(toolset.Options{
			Operation: workflow.ActivityOptions{Summary: "of the block"},
			Tools:     map[string]workflow.ActivityOptions{fixture.Get: {Summary: "of the tool"}},
		})
		return got, toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			view := ts.WithOptions(toolset.Options{
				CallTimeout: 12 * time.Second, Operation: workflow.ActivityOptions{Summary: "of the call", StartToCloseTimeout: 42 * time.Second},
			})
			for _, through := range []*toolset.Toolset{ts, view, ts} {
				text, err := call(ctx, through, fixture.Incr, nil)
				if err != nil {
					return err
				}
				got = append(got, text)
			}
			if _, err := call(ctx, ts, fixture.Get, nil); err != nil {
				return err
			}
			_, err := ts.WithOptions(toolset.Options{Server: "other"}).CallTool(ctx, fixture.Get, nil)
			got = append(got, fmt.Sprint(err))
			return nil
		})
	}, stdio("counter"))
	run := b.start()
	var got []string
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got[:3]) != "[1 2 3]" {
		t.Errorf("the counter was %v", got)
	}
	mentions(t, got[3], "WithOptions", "Server")
	calls := b.activities(run, "mcp.counter.call-tool")
	if len(calls) != 4 {
		t.Fatalf("there were %d calls", len(calls))
	}
	for i, want := range []struct {
		summary      string
		startToClose time.Duration
	}{
		{"of the block", 41 * time.Second}, {"of the call", 42 * time.Second}, {"of the block", 41 * time.Second}, {"of the tool", 21 * time.Second},
	} {
		scheduled := calls[i]
		if calls[i].summary != want.summary || scheduled.GetStartToCloseTimeout().AsDuration() != want.startToClose || scheduled.GetPriority().GetPriorityKey() != 2 {
			t.Errorf("call %d: summary %q, start-to-close %v, priority %v; want %+v", i, calls[i].summary,
				scheduled.GetStartToCloseTimeout().AsDuration(), scheduled.GetPriority(), want)
		}
	}
}

// A result that is to be kept comes without an activity the next time that the same
// is asked; an error of the tool, other arguments and other tools are asked for.
func TestResultsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var runs atomic.Int32
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []string, err error) {
		options := toolset.Options{Server: "test", CacheResults: []string{"tool"}}
		return got, toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for _, arguments := range []map[string]any{{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2}, {"fail": true}, {"fail": true}} {
				text, err := call(ctx, ts, "tool", arguments)
				if err != nil {
					return err
				}
				got = append(got, text)
			}
			var kept *mcp.CallToolResult
			if err := ts.CallToolAsync(ctx, "tool", map[string]any{"a": 2}).Get(ctx, &kept); err != nil {
				return err
			}
			got = append(got, fixture.Text(kept))
			return nil
		})
	}, inMemory("test", func() *mcp.Server {
		return serverOf("tool", func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result := texts("run %d", runs.Add(1))
			var a struct{ Fail bool }
			_ = json.Unmarshal(request.Params.Arguments, &a)
			result.IsError = a.Fail
			return result, nil
		})
	}))
	run := b.start()
	var got []string
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[run 1 run 1 run 2 run 3 run 4 run 2]" {
		t.Errorf("got %v", got)
	}
	if n := len(b.activities(run, "mcp.test.call-tool")); n != 4 {
		t.Errorf("there were %d activities", n)
	}
}

// A call that a gateway answers with 502 is sent again if the server says that its
// tool is read-only or idempotent, or the caller that it may be repeated, three
// times at most, in one activity. What nobody says that of is sent once, as is what
// the caller says must not be, whatever the server says.
func TestRepeatableTools(t *testing.T) {
	t.Parallel()
	readOnly, idempotent := &mcp.ToolAnnotations{ReadOnlyHint: true}, &mcp.ToolAnnotations{IdempotentHint: true}
	for name, test := range map[string]struct {
		annotations *mcp.ToolAnnotations
		list        bool
		repeatable  map[string]bool
		failures    int // how many answers are 502
		sends       int
		answered    bool
	}{
		"nobody says so":              {nil, true, nil, 1, 1, false},
		"read-only":                   {readOnly, true, nil, 1, 2, true},
		"idempotent":                  {idempotent, true, nil, 2, 3, true},
		"read-only, not listed":       {readOnly, false, nil, 1, 1, false},
		"three times at most":         {readOnly, true, nil, 9, 3, false},
		"the caller says so":          {nil, false, map[string]bool{"tool": true}, 1, 2, true},
		"the caller says no":          {readOnly, true, map[string]bool{"tool": false}, 1, 1, false},
		"the caller says so of other": {nil, true, map[string]bool{"other": true}, 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			newServer := schemaOf(`{"type":"object"}`, test.annotations,
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return texts("ok"), nil })
			s := b.site(&fixture.HTTP{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, nil)})
			var sends atomic.Int32
			s.put(func(w http.ResponseWriter, _ *http.Request, method string) bool {
				if method != "tools/call" || int(sends.Add(1)) > test.failures {
					return false
				}
				w.WriteHeader(http.StatusBadGateway)
				return true
			})
			type seen struct {
				Text  string
				Fault fault
			}
			b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
				options := toolset.Options{Server: "counter", Repeatable: test.repeatable}
				return got, toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
					if test.list {
						if _, err := ts.ListTools(ctx); err != nil {
							return err
						}
					}
					text, err := call(ctx, ts, "tool", nil)
					got = seen{text, faultOf(err)}
					return nil
				})
			}, session.Server{Name: "counter", Connect: transport.HTTP(s.URL)})
			run := b.start()
			var got seen
			if err := run.Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if int(sends.Load()) != test.sends {
				t.Errorf("the call was sent %d times, want %d", sends.Load(), test.sends)
			}
			if test.answered && got.Text != "ok" || !test.answered && (got.Fault.Type != failure.TypeCall || got.Fault.Ran != failure.RanUnknown) {
				t.Errorf("the caller got %+v", got)
			}
			if n := len(b.activities(run, "mcp.counter.call-tool")); n == 0 {
				t.Error("there was no activity")
			}
		})
	}
}
