package tests

//lint:file-ignore SA1019 servers in the field ask for what the MCP SDK deprecates and still supports

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// curious is a server whose tools ask their client for things, and say what they
// got.
func curious() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "curious", Version: "1"}, nil)
	add := func(name string, ask func(context.Context, *mcp.ServerSession) (any, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				got, err := ask(ctx, request.Session)
				if err != nil {
					return texts("refused: %v", err), nil
				}
				raw, err := json.Marshal(got)
				return texts("%s", raw), err
			})
	}
	add("elicit", func(ctx context.Context, s *mcp.ServerSession) (any, error) {
		return s.Elicit(ctx, &mcp.ElicitParams{Message: "Sure?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`)})
	})
	add("sample", func(ctx context.Context, s *mcp.ServerSession) (any, error) {
		return s.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "Say hello."}},
		}})
	})
	add("roots", func(ctx context.Context, s *mcp.ServerSession) (any, error) { return s.ListRoots(ctx, nil) })
	add("notify", func(ctx context.Context, s *mcp.ServerSession) (any, error) {
		if err := s.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "a line of log"}); err != nil {
			return nil, err
		}
		return "notified", s.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "unknown", Progress: 1})
	})
	return s
}

// askAll calls the tools in one block and returns what they said.
func (b *bundle) askAll(options *mcp.ClientOptions, tools ...string) map[string]string {
	b.Helper()
	s := inMemory("curious", curious)
	s.Client = options
	b.worker(worker.Options{}, func(ctx workflow.Context) (map[string]string, error) {
		got := make(map[string]string)
		err := toolset.With(ctx, toolset.Options{Server: "curious"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for _, tool := range tools {
				text, err := call(ctx, ts, tool, nil)
				if err != nil {
					return fmt.Errorf("%s: %w", tool, err)
				}
				got[tool] = text
			}
			return nil
		})
		return got, err
	}, s)
	var got map[string]string
	if err := b.start().Get(b.ctx, &got); err != nil {
		b.Fatal(err)
	}
	return got
}

// A session declares no capability that nothing answers, and a server that asks all
// the same is refused at once: its call goes on and no tool hangs. Notices that
// nobody listens to do no harm. (C24)
func TestServerAsksAndNobodyAnswers(t *testing.T) {
	t.Parallel()
	got := setup(t).askAll(nil, "elicit", "sample", "roots", "notify")
	for _, tool := range []string{"elicit", "sample"} {
		mentions(t, got[tool], "refused: ")
	}
	if roots := got["roots"]; roots != `{"roots":[]}` && roots != `{"roots":null}` {
		mentions(t, roots, "refused: ")
	}
	if got["notify"] != `"notified"` {
		t.Errorf("notify returned %s", got["notify"])
	}
}

// What a session declares is what something answers: nothing by itself, and what
// the user's handlers are for. (DESIGN 5)
func TestCapabilitiesThatAreDeclared(t *testing.T) {
	t.Parallel()
	elicit := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil }
	for name, test := range map[string]struct {
		options *mcp.ClientOptions
		want    string
	}{
		"no options":    {nil, `{}`},
		"empty options": {&mcp.ClientOptions{}, `{}`},
		"a handler":     {&mcp.ClientOptions{ElicitationHandler: elicit}, `{"elicitation":{"form":{}}}`},
		"roots":         {&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}}}, `{"roots":{"listChanged":true}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			declared := make(chan json.RawMessage, 1)
			w := wire(func(method string, params json.RawMessage) string {
				if method == "initialize" {
					declared <- params
				}
				return ""
			})
			setup(t).opened(worker.Options{}, session.Server{Name: "wire", Connect: w.connector, Client: test.options})
			var initialize struct{ Capabilities json.RawMessage }
			if err := json.Unmarshal(<-declared, &initialize); err != nil {
				t.Fatal(err)
			}
			if got, want := asJSON(t, initialize.Capabilities), asJSON(t, json.RawMessage(test.want)); got != want {
				t.Errorf("the session declares %s, want %s", got, want)
			}
		})
	}
}

// Handlers in Server.Client answer on the worker, and are declared: one for
// elicitation, one for sampling.
func TestServerAsksAndAHandlerAnswers(t *testing.T) {
	t.Parallel()
	got := setup(t).askAll(&mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}, Sampling: &mcp.SamplingCapabilities{}},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"ok": true}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "hello"}}, nil
		},
	}, "elicit", "sample")
	mentions(t, got["elicit"], `"action":"accept"`, `"ok":true`)
	mentions(t, got["sample"], `"hello"`)
}

// A user's own handler for changed tool lists is called beside ours.
func TestToolListHandlerOfTheUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	changed := newLatch()
	s := stdio("counter")
	s.Client = &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed.open() }}
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got []bool, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter", CacheTools: true}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for _, tool := range []string{fixture.Grow, fixture.Get} {
				list, err := ts.ListTools(ctx)
				if err != nil {
					return err
				}
				got = append(got, hasTool(list, "grown"))
				if _, err := ts.CallTool(ctx, tool, nil); err != nil {
					return err
				}
				if err := await(ctx, "the list has changed"); err != nil {
					return err
				}
			}
			list, err := ts.ListTools(ctx)
			if err == nil {
				got = append(got, hasTool(list, "grown"))
			}
			return err
		})
		return got, err
	}, s)
	condition(w, "the list has changed", changed.isOpen)
	var got []bool
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	// Whether the second list is new already depends on which came first, the notice
	// or the answer to the call that brought it about.
	if len(got) != 3 || got[0] || !got[2] {
		t.Errorf("the new tool was seen: %v", got)
	}
}
