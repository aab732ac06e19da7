package tests

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A refusal is a JSON-RPC error as a workflow sees it.
type refusal struct {
	Fault fault
	Code  int64
	Data  json.RawMessage
	// Raw is the failure's details as any client decodes them.
	RawCode int64
	RawData json.RawMessage
	// Before and After are the server's process around the call.
	Before, After string
}

// refuse calls a tool that the server refuses to call, between two calls that
// tell whether the session is the same.
func refuse(ctx workflow.Context, tool string) (r refusal, err error) {
	err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		var err error
		if r.Before, err = call(ctx, ts, fixture.Pid, nil); err != nil {
			return err
		}
		result, refused := ts.CallTool(ctx, tool, nil)
		if result != nil || !failure.IsMCPProtocol(refused) {
			return errors.Join(errors.New("the call was not refused"), refused)
		}
		r.Fault = faultOf(refused)
		d, _ := failure.MCPProtocol(refused)
		r.Code, r.Data = d.Code, d.Data
		var application *temporal.ApplicationError
		if !errors.As(refused, &application) {
			return refused
		}
		if err := application.Details(&r.RawCode, &r.RawData); err != nil {
			return err
		}
		r.After, err = call(ctx, ts, fixture.Pid, nil)
		return err
	})
	return r, err
}

// A JSON-RPC error is an MCPProtocolError with the server's code and data, is not
// called again, and leaves the session as it was.
func TestRefusedCallIsAProtocolError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool string
		data string
		text []string
	}{
		"unknown tool": {tool: "no-such-tool", data: "null", text: []string{`"counter"`, "-32602", "no-such-tool"}},
		"with data":    {tool: fixture.Refuse, data: `{"field":"x"}`, text: []string{`"counter"`, "-32602", "no such thing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(worker.Options{}, refuse, stdio("counter"))
			run := b.start(test.tool)
			var r refusal
			if err := run.Get(b.ctx, &r); err != nil {
				t.Fatal(err)
			}
			mentions(t, r.Fault.Text, test.text...)
			if r.Fault.Type != failure.TypeMCPProtocol || r.Fault.Ran != failure.RanUnknown || r.Fault.Final {
				t.Errorf("the failure is %+v", r.Fault)
			}
			if r.Code != -32602 || r.RawCode != -32602 {
				t.Errorf("the code is %d, in the details %d", r.Code, r.RawCode)
			}
			for _, got := range []json.RawMessage{r.Data, r.RawData} {
				if string(got) != test.data {
					t.Errorf("the data is %s, want %s", got, test.data)
				}
			}
			if r.Before != r.After {
				t.Errorf("the server's process was %s before and %s after the call", r.Before, r.After)
			}
			for _, call := range b.activities(run, "mcp.counter.call-tool") {
				if attempt := call.started.GetAttempt(); attempt != 1 {
					t.Errorf("a call took %d attempts", attempt)
				}
			}
		})
	}
}

// A tool that says that it failed has returned a result: no error, attempt 1, the
// text kept. So has one whose good result begins with "Error:". (C8, C18)
func TestToolErrorIsAResult(t *testing.T) {
	t.Parallel()
	results := map[string]*mcp.CallToolResult{
		"text":       {IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "the disk is full"}}},
		"structured": {IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "{}"}}, StructuredContent: map[string]any{"left": 0.0}},
		"empty":      {IsError: true, Content: []mcp.Content{}},
		"success":    {Content: []mcp.Content{&mcp.TextContent{Text: "Error: none found"}}},
	}
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (map[string]*mcp.CallToolResult, error) {
		got := make(map[string]*mcp.CallToolResult)
		err := toolset.With(ctx, toolset.Options{Server: "erring"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for _, which := range []string{"text", "structured", "empty", "success"} {
				result, err := ts.CallTool(ctx, "answer", map[string]string{"which": which})
				if err != nil {
					return err
				}
				got[which] = result
			}
			return nil
		})
		return got, err
	}, inMemory("erring", func() *mcp.Server { return serverOf("answer", answerFrom(results)) }))
	run := b.start()
	var got map[string]*mcp.CallToolResult
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	for which, want := range results {
		if got, want := asJSON(t, got[which]), asJSON(t, want); got != want {
			t.Errorf("%s: got %s, want %s", which, got, want)
		}
	}
	for _, call := range b.activities(run, "mcp.erring.call-tool") {
		if attempt := call.started.GetAttempt(); attempt != 1 {
			t.Errorf("a call took %d attempts", attempt)
		}
	}
}

// Many calls, one after the other, of which some fail, all reach one session: the
// counter has every one.
func TestCallsBetweenFailuresAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got string, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for _, tool := range []string{fixture.Fail, fixture.Refuse, "no-such-tool", fixture.Echo} {
				_, _ = ts.CallTool(ctx, tool, nil)
				if _, err := call(ctx, ts, fixture.Incr, nil); err != nil {
					return err
				}
			}
			got, err = call(ctx, ts, fixture.Get, nil)
			return err
		})
		return got, err
	}, stdio("counter"))
	var got string
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got != "4" {
		t.Errorf("the counter is %s, want 4", got)
	}
}
