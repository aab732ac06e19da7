package toolsettest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/toolsettest"
	"github.com/mcpsession/mcpsession/transport"
)

// counters is a real MCP server with state of each session: a counter that begins where
// the workflow says, and what else a server can have.
func counters(name string) toolsettest.Server {
	return toolsettest.Server{Name: name, MCP: func(argument transport.Argument) *mcp.Server {
		var begin int64
		if len(argument) > 0 {
			if err := argument.Decode(&begin); err != nil {
				return nil
			}
		}
		var n atomic.Int64
		n.Store(begin)
		server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{
			Instructions: "count",
			CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
				return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"one"}}}, nil
			},
		})
		type by struct {
			By int64 `json:"by"`
		}
		type total struct {
			Total int64 `json:"total"`
		}
		mcp.AddTool(server, &mcp.Tool{Name: "count"}, func(_ context.Context, _ *mcp.CallToolRequest, in by) (*mcp.CallToolResult, total, error) {
			return nil, total{n.Add(in.By)}, nil
		})
		server.AddPrompt(&mcp.Prompt{Name: "ask"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: fmt.Sprint(n.Load())}, nil
		})
		server.AddResource(&mcp.Resource{Name: "n", URI: "count:n"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "count:n", Text: fmt.Sprint(n.Load())}}}, nil
		})
		server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "count:{x}"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return nil, errors.New("no such counter")
		})
		return server
	}}
}

type total struct {
	Total int `json:"total"`
}

func count(ctx workflow.Context, caller toolset.Caller, by int) (int, error) {
	out, err := toolset.Call[total](ctx, caller, "count", map[string]int{"by": by})
	return out.Total, err
}

// Every operation reaches the real server, in a session and without.
func TestOperationsReachTheServer(t *testing.T) {
	t.Parallel()
	type server interface {
		toolset.Caller
		ListTools(workflow.Context) (*mcp.ListToolsResult, error)
		ListPrompts(workflow.Context) (*mcp.ListPromptsResult, error)
		GetPrompt(workflow.Context, string, map[string]string) (*mcp.GetPromptResult, error)
		ListResources(workflow.Context) (*mcp.ListResourcesResult, error)
		ListResourceTemplates(workflow.Context) (*mcp.ListResourceTemplatesResult, error)
		ReadResource(workflow.Context, string) (*mcp.ReadResourceResult, error)
		Complete(workflow.Context, *mcp.CompleteParams) (*mcp.CompleteResult, error)
	}
	all := func(ctx workflow.Context, s server) error {
		if n, err := count(ctx, s, 3); err != nil || n != 10 {
			return fmt.Errorf("the count is %d, %v", n, err)
		}
		tools, err := s.ListTools(ctx)
		if err != nil || len(tools.Tools) != 1 {
			return fmt.Errorf("tools: %v, %w", tools, err)
		}
		prompts, err := s.ListPrompts(ctx)
		if err != nil || len(prompts.Prompts) != 1 {
			return fmt.Errorf("prompts: %v, %w", prompts, err)
		}
		if _, err := s.GetPrompt(ctx, "ask", nil); err != nil {
			return err
		}
		resources, err := s.ListResources(ctx)
		if err != nil || len(resources.Resources) != 1 {
			return fmt.Errorf("resources: %v, %w", resources, err)
		}
		templates, err := s.ListResourceTemplates(ctx)
		if err != nil || len(templates.ResourceTemplates) != 1 {
			return fmt.Errorf("templates: %v, %w", templates, err)
		}
		if _, err := s.ReadResource(ctx, "count:n"); err != nil {
			return err
		}
		if _, err := s.ReadResource(ctx, "count:other"); !failure.IsMCPProtocol(err) {
			return fmt.Errorf("a resource that there is not: %w", err)
		}
		completed, err := s.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "ask"}, Argument: mcp.CompleteParamsArgument{Name: "x"}})
		if err != nil || len(completed.Completion.Values) != 1 {
			return fmt.Errorf("completion: %v, %w", completed, err)
		}
		return nil
	}
	for name, w := range map[string]func(workflow.Context) error{
		"session": func(ctx workflow.Context) error {
			return toolset.With(ctx, toolset.Options{Server: "n", Argument: 7}, func(ctx workflow.Context, ts *toolset.Toolset) error {
				if info := ts.Info(); info.Host != toolsettest.Host || info.Initialize.Instructions != "count" {
					return fmt.Errorf("info: %+v", info)
				}
				return all(ctx, ts)
			})
		},
		"stateless": func(ctx workflow.Context) error {
			client, err := stateless.New(ctx, stateless.Options{Server: "n", Argument: 7})
			if err != nil {
				return err
			}
			return all(ctx, client)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment()
			k := toolsettest.New(t, env, counters("n"))
			if err := run(t, env, w); err != nil {
				t.Error(err)
			}
			k.ExpectCalls(toolsettest.Call{Server: "n", Tool: "count", Arguments: []byte(`{"by":3}`)})
			if calls := k.Calls(); len(calls) == 1 && (calls[0].Result == nil || calls[0].Result.StructuredContent == nil) {
				t.Errorf("the result is %+v", calls[0].Result)
			}
		})
	}
}

// Sessions are apart: blocks at once, of several servers, by WithAll and by coroutines,
// with calls that wait in a selector.
func TestSessionsAreApart(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, counters("a"), counters("b"), shop())
	err := run(t, env, func(ctx workflow.Context) error {
		options := []toolset.Options{{Server: "a"}, {Server: "b", Argument: 100}, {Server: "a", Argument: 10}}
		return toolset.WithAll(ctx, options, func(ctx workflow.Context, all []*toolset.Toolset) error {
			selector, sums := workflow.NewSelector(ctx), make([]int, len(all))
			var failed error
			for i, ts := range all {
				for range 2 {
					selector.AddFuture(ts.CallToolAsync(ctx, "count", map[string]int{"by": 1}), func(f workflow.Future) {
						var result *mcp.CallToolResult
						if err := f.Get(ctx, &result); err != nil {
							failed = err
						}
						sums[i]++
					})
				}
			}
			for range 2 * len(all) {
				selector.Select(ctx)
			}
			for i, want := range []int{2, 102, 12} {
				if n, err := count(ctx, all[i], 0); err != nil || n != want || sums[i] != 2 {
					return fmt.Errorf("session %d has %d, not %d: %w", i, n, want, errors.Join(err, failed))
				}
			}
			return failed
		})
	})
	if err != nil {
		t.Error(err)
	}
	if sessions := k.Sessions("a"); len(sessions) != 2 || sessions[0].N != 1 || sessions[1].N != 2 {
		t.Errorf("sessions: %+v", sessions)
	}
	if calls := k.Calls("b"); len(calls) != 3 {
		t.Errorf("calls of b: %v", calls)
	}
}

// A run that continues as new is another run: the environment ends there for the main
// workflow, and runs a child on.
func TestContinueAsNew(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, counters("n"))
	child := func(ctx workflow.Context, left int) (n int, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "n"}, func(ctx workflow.Context, ts *toolset.Toolset) (err error) {
			n, err = count(ctx, ts, 1)
			return err
		})
		if err == nil && left > 0 {
			err = workflow.NewContinueAsNewError(ctx, "child", left-1)
		}
		return n, err
	}
	env.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: "child"})
	var n int
	err := run(t, env, func(ctx workflow.Context) error {
		ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: "child"})
		return workflow.ExecuteChildWorkflow(ctx, "child", 2).Get(ctx, &n)
	})
	if err != nil || n != 1 || len(k.Sessions()) != 3 {
		t.Errorf("%d of %d sessions, %v", n, len(k.Sessions()), err)
	}
}

// A workflow that is cancelled in a block: what waits ends, the block cleans up and
// closes.
func TestCancel(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, shop())
	k.OnCall("shop", "add", 1).Slow(50 * time.Second)
	env.RegisterDelayedCallback(env.CancelWorkflow, 10*time.Second)
	var call error
	err := run(t, env, func(ctx workflow.Context) error {
		return inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error {
			_, call = add(ctx, shop, "pear")
			ctx, _ = workflow.NewDisconnectedContext(ctx)
			if _, err := add(ctx, shop, "plum"); err != nil {
				return err
			}
			return call
		})
	})
	if !temporal.IsCanceledError(call) || !temporal.IsCanceledError(err) {
		t.Errorf("the call ended with %v, the workflow with %v", call, err)
	}
	k.ExpectCalls(toolsettest.Call{Session: 1, Tool: "add"}, toolsettest.Call{Session: 1, Tool: "add", Arguments: []byte(`{"item":"plum"}`)})
}

// A call that is pending when its block closes.
func TestCloseWhileACallIsPending(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, shop())
	k.OnCall("shop", "add", 1).Slow(50 * time.Second)
	var pending error
	err := run(t, env, func(ctx workflow.Context) error {
		ts, err := toolset.Open(ctx, toolset.Options{Server: "shop"})
		if err != nil {
			return err
		}
		call := ts.CallToolAsync(ctx, "add", item{"pear"})
		if err := workflow.Sleep(ctx, time.Second); err != nil {
			return err
		}
		if err := ts.Close(ctx); err != nil {
			return err
		}
		pending = call.Get(ctx, nil)
		if _, err := add(ctx, ts, "plum"); !failure.IsSessionClosed(err) {
			return fmt.Errorf("a call after Close: %w", err)
		}
		return nil
	})
	if d, ok := failure.SessionClosed(pending); err != nil || !ok || d.ToolRan != failure.RanUnknown {
		t.Errorf("got %v, and %v", pending, err)
	}
}

// What a tool of the simple kind returns, and how it fails.
func TestTools(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	tools := func(result any, err error) toolsettest.Tool {
		return func(context.Context, json.RawMessage) (any, error) { return result, err }
	}
	toolsettest.New(t, env, toolsettest.Server{Name: "t", Tools: map[string]toolsettest.Tool{
		"text":   tools("hello", nil),
		"none":   tools(nil, nil),
		"whole":  tools(&mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}}}}, nil),
		"object": tools(total{7}, nil),
		"fails":  tools(nil, errors.New("sold out")),
		"odd":    tools(func() {}, nil),
		"echo":   func(_ context.Context, arguments json.RawMessage) (any, error) { return string(arguments), nil },
		"panics": func(context.Context, json.RawMessage) (any, error) { panic("oh") },
	}})
	err := run(t, env, func(ctx workflow.Context) error {
		return toolset.With(ctx, toolset.Options{Server: "t"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			got := make(map[string]*mcp.CallToolResult)
			for _, name := range []string{"text", "none", "whole", "object", "fails", "odd", "panics", "echo"} {
				result, err := ts.CallTool(ctx, name, json.RawMessage(`{"n":12345678901234567890}`))
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				got[name] = result
			}
			object, err := toolset.Call[total](ctx, ts, "object", nil)
			if err != nil || object.Total != 7 {
				return fmt.Errorf("object: %v, %w", object, err)
			}
			_, isImage := got["whole"].Content[0].(*mcp.ImageContent)
			for what, ok := range map[string]bool{
				"text":   failure.Text(got["text"]) == "hello" && !got["text"].IsError,
				"none":   len(got["none"].Content) == 0 && !got["none"].IsError,
				"whole":  isImage,
				"fails":  got["fails"].IsError && failure.Text(got["fails"]) == "sold out",
				"odd":    got["odd"].IsError && strings.Contains(failure.Text(got["odd"]), "func()"),
				"panics": got["panics"].IsError && strings.Contains(failure.Text(got["panics"]), "oh"),
				"echo":   failure.Text(got["echo"]) == `{"n":12345678901234567890}`,
			} {
				if !ok {
					return fmt.Errorf("%s: %+v", what, got[what])
				}
			}
			if _, err := ts.CallTool(ctx, "other", nil); !failure.IsMCPProtocol(err) {
				return fmt.Errorf("a tool that there is not: %w", err)
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// A server that ends its session itself: some call finds it gone.
func TestServerEndsItsSession(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, toolsettest.Server{Name: "frail", MCP: func(transport.Argument) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "frail", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "fall", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				go func() { _ = request.Session.Close() }() // it waits for this handler
				return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
			})
		return server
	}})
	err := run(t, env, func(ctx workflow.Context) error {
		return toolset.With(ctx, toolset.Options{Server: "frail"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for range 1000 {
				if _, err := ts.CallTool(ctx, "fall", nil); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if d, ok := failure.DedicatedWorker(err); !ok || d.Reason != failure.ReasonServerGone {
		t.Errorf("got %v", err)
	}
	if sessions := k.Sessions(); len(sessions) != 1 || !failure.IsDedicatedWorker(sessions[0].Lost) {
		t.Errorf("sessions: %+v", sessions)
	}
}
