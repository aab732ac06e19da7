package tests

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

// answerFrom is a tool that returns the result that its arguments name.
func answerFrom(results map[string]*mcp.CallToolResult) mcp.ToolHandler {
	return func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments struct{ Which string }
		if err := json.Unmarshal(request.Params.Arguments, &arguments); err != nil {
			return nil, err
		}
		return results[arguments.Which], nil
	}
}

// callBoth calls a tool of the wire once by an MCP client of the SDK and once in
// a workflow, and returns both results. The workflow's has crossed Temporal twice.
func callBoth(t *testing.T, w wire, tool string) (direct, got *mcp.CallToolResult) {
	t.Helper()
	b := setup(t)
	direct, err := w.direct(t).CallTool(b.ctx, &mcp.CallToolParams{Name: tool})
	if err != nil {
		t.Fatal(err)
	}
	b.worker(worker.Options{}, func(ctx workflow.Context) (result *mcp.CallToolResult, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "wire"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			result, err = ts.CallTool(ctx, tool, nil)
			return err
		})
		return result, err
	}, session.Server{Name: "wire", Connect: w.connector})
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	return direct, got
}

// everyField is a result with each type of content that a tool may return and
// each field that the protocol knows, but isError.
const everyField = `{
 "_meta": {"example.com/trace": "t-1", "example.com/nested": {"a": [1, 2.5, null, true]}},
 "content": [
  {"type": "text", "text": "plain"},
  {"type": "text", "text": ""},
  {"type": "text", "text": "ü <b>&amp;</b> \u2028 \ud83d\ude00 \u0000", "annotations": {"audience": ["user", "assistant"], "priority": 0.25, "lastModified": "2025-01-12T15:00:58Z"}, "_meta": {"k": "v"}},
  {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "annotations": {"audience": ["user"], "priority": 1}, "_meta": {"k": 1}},
  {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav", "annotations": {"audience": ["assistant"]}, "_meta": {"k": [1]}},
  {"type": "resource_link", "uri": "file:///a.txt", "name": "a", "title": "A", "description": "an a", "mimeType": "text/plain", "size": 12,
   "icons": [{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "dark"}], "annotations": {"priority": 0.5}, "_meta": {"k": {}}},
  {"type": "resource", "resource": {"uri": "mem:///t", "mimeType": "text/plain", "text": "embedded", "_meta": {"in": 1}}, "annotations": {"priority": 0.75}, "_meta": {"k": null}},
  {"type": "resource", "resource": {"uri": "mem:///b", "mimeType": "application/octet-stream", "blob": "AAEC/w=="}}
 ],
 "structuredContent": {"rows": [[1, "a"], [2, null]], "total": 2, "deep": {"deeper": {"deepest": []}}}
}`

// Every field of a result comes through the session, the envelope and the data
// converter as an MCP client next to the server gets it, and for a result that
// leaves no choice in its encoding, as the server wrote it. (C20)
func TestResultsAreUnchanged(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{
		"every field":               everyField,
		"empty content":             `{"content": []}`,
		"empty content, structured": `{"content": [], "structuredContent": {"a": 1}}`,
		"structured array":          `{"content": [{"type": "text", "text": "[1]"}], "structuredContent": [1, {"b": null}]}`,
		"structured string":         `{"content": [], "structuredContent": "s"}`,
		"structured false":          `{"content": [], "structuredContent": false}`,
		"error":                     `{"content": [{"type": "text", "text": "no"}], "isError": true}`,
		"error, structured":         `{"content": [], "structuredContent": {"code": 7}, "isError": true, "_meta": {"a": "b"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct, got := callBoth(t, returning(t, result), "tool")
			if got, want := asJSON(t, got), asJSON(t, direct); got != want {
				t.Errorf("got %s\na direct client gets %s", got, want)
			}
			if got, want := asJSON(t, got), asJSON(t, json.RawMessage(result)); got != want {
				t.Errorf("got %s\nthe server sent %s", got, want)
			}
			if (got.Content == nil) != (direct.Content == nil) {
				t.Errorf("content is nil: %v, for a direct client: %v", got.Content == nil, direct.Content == nil)
			}
		})
	}
}

// A result without content, which the protocol forbids and servers send, is as a
// direct client sees it.
func TestResultWithoutContent(t *testing.T) {
	t.Parallel()
	direct, got := callBoth(t, returning(t, `{"structuredContent":{"a":1}}`), "tool")
	if got, want := asJSON(t, got), asJSON(t, direct); got != want {
		t.Errorf("got %s, a direct client gets %s", got, want)
	}
}
