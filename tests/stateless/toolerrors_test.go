package stateless

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// What a tool says of its own failure is a result in whatever form, and an error of a
// typed call that keeps its text; a success that begins with "Error:" is neither.
// (C18)
func TestToolErrors(t *testing.T) {
	t.Parallel()
	results := map[string]*mcp.CallToolResult{
		"text":       {Content: []mcp.Content{&mcp.TextContent{Text: "no such row"}}, IsError: true},
		"structured": {Content: []mcp.Content{}, StructuredContent: map[string]any{"code": 7}, IsError: true},
		"empty":      {Content: []mcp.Content{}, IsError: true},
		"success":    textResult("Error: this is a success"),
	}
	b := setup(t)
	b.worker(session.Options{Servers: []session.Server{b.counted(transport.InMemory(func(transport.Argument) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		for name, result := range results {
			s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
		}
		return s
	}))}})
	type told struct {
		IsError, IsTool bool
		Text            string
	}
	got := do(b, stateless.Options{}, func(ctx workflow.Context, c *stateless.Client) (map[string]told, error) {
		all := make(map[string]told)
		for _, name := range []string{"text", "structured", "empty", "success"} {
			result, err := c.CallTool(ctx, name, nil)
			if err != nil {
				return nil, err
			}
			text, err := toolset.Call[string](ctx, c, name, nil)
			var tool *failure.Tool
			if errors.As(err, &tool) {
				text = tool.Text
			} else if err != nil {
				return nil, err
			}
			all[name] = told{result.IsError, tool != nil, text}
		}
		return all, nil
	})
	want := map[string]told{
		"text": {true, true, "no such row"}, "structured": {true, true, ""}, "empty": {true, true, ""},
		"success": {false, false, "Error: this is a success"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
