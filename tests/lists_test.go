package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// fixed is a server whose tool list does not change, and which says so.
func fixed() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fixed", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		PageSize:     3,
	})
	for i := range 8 {
		s.AddTool(&mcp.Tool{Name: fmt.Sprintf("tool-%d", i), InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return texts("ok"), nil })
	}
	return s
}

// The tools of all pages come in one activity and without a cursor, and a list
// that can't change is read once a block.
func TestToolListIsReadOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (lists []*mcp.ListToolsResult, err error) {
		for range 2 {
			err := toolset.With(ctx, toolset.Options{Server: "fixed"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
				for range 3 {
					list, err := ts.ListTools(ctx)
					if err != nil {
						return err
					}
					lists = append(lists, list)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		return lists, nil
	}, inMemory("fixed", fixed))
	run := b.start()
	var lists []*mcp.ListToolsResult
	if err := run.Get(b.ctx, &lists); err != nil {
		t.Fatal(err)
	}
	for i, list := range lists {
		if len(list.Tools) != 8 || list.NextCursor != "" {
			t.Errorf("list %d has %d tools and the cursor %q, want 8 and none", i, len(list.Tools), list.NextCursor)
		}
		for j, tool := range list.Tools {
			if tool.Name != fmt.Sprintf("tool-%d", j) {
				t.Errorf("list %d has tool %s in place %d", i, tool.Name, j)
			}
		}
	}
	if n := len(b.activities(run, "mcp.fixed.list-tools")); n != 2 {
		t.Errorf("two blocks read the list %d times", n)
	}
}

// Where a server says that its list may change, every ListTools reads it anew, so
// that a new tool is seen. (C23)
func TestToolListThatMayChangeIsReadAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []bool, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for _, before := range []string{fixture.Get, fixture.Grow, "grown"} {
				if _, err := ts.CallTool(ctx, before, nil); err != nil {
					return err
				}
				list, err := ts.ListTools(ctx)
				if err != nil {
					return err
				}
				got = append(got, hasTool(list, "grown"))
			}
			return nil
		})
		return got, err
	}, stdio("counter"))
	run := b.start()
	var got []bool
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[false true true]" {
		t.Errorf("the new tool was seen: %v", got)
	}
	if n := len(b.activities(run, "mcp.counter.list-tools")); n != 3 {
		t.Errorf("three ListTools were %d activities", n)
	}
}

// CacheTools keeps such a list until a call brings the server's word that it has
// changed, and only until then. (C23)
func TestCachedToolListIsReadAgainAfterAChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type seen struct{ First, Second, Last bool }
	b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter", CacheTools: true}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			listed := func(to *bool) error {
				list, err := ts.ListTools(ctx)
				if err == nil {
					*to = hasTool(list, "grown")
				}
				return err
			}
			if err := errors.Join(listed(&got.First), listed(&got.Second)); err != nil {
				return err
			}
			if _, err := ts.CallTool(ctx, fixture.Grow, nil); err != nil {
				return err
			}
			// The notice comes some time after the change.
			for until := workflow.Now(ctx).Add(testTimeout / 2); !got.Last && workflow.Now(ctx).Before(until); {
				if err := workflow.Sleep(ctx, 5*time.Millisecond); err != nil {
					return err
				}
				if _, err := ts.CallTool(ctx, fixture.Get, nil); err != nil {
					return err
				}
				if err := listed(&got.Last); err != nil {
					return err
				}
			}
			for range 3 {
				if err := listed(&got.Last); err != nil {
					return err
				}
			}
			return nil
		})
		return got, err
	}, stdio("counter"))
	run := b.start()
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.First || got.Second || !got.Last {
		t.Errorf("the new tool was seen: %+v", got)
	}
	if n := len(b.activities(run, "mcp.counter.list-tools")); n != 2 {
		t.Errorf("the list was read %d times, want twice", n)
	}
}

func hasTool(list *mcp.ListToolsResult, name string) bool {
	for _, tool := range list.Tools {
		if tool.Name == name {
			return true
		}
	}
	return false
}

// everySchema is a tool list with what schemas of servers in the field have in
// them, and all other fields of a tool.
const everySchema = `{
 "tools": [
  {"name": "defs", "title": "Defs", "description": "uses $defs",
   "inputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"leaf": {"type": "string", "minLength": 1}, "node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}},
    "properties": {"leaf": {"$ref": "#/$defs/leaf"}, "root": {"$ref": "#/$defs/node"}}, "required": ["leaf"], "additionalProperties": false},
   "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "x-out": 1},
   "annotations": {"title": "D", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
   "icons": [{"src": "data:image/png;base64,AA==", "mimeType": "image/png", "sizes": ["any"]}], "_meta": {"example.com/k": [1]}},
  {"name": "definitions",
   "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "definitions": {"id": {"type": ["string", "null"]}},
    "properties": {"id": {"$ref": "#/definitions/id"}, "color": {"enum": ["red", "green", null, 7]}, "size": {"type": "number", "default": 1.5, "exclusiveMinimum": 0},
     "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "array", "prefixItems": [{"const": 0}]}}}},
    "additionalProperties": false, "x-vendor": {"deep": [true, {"deeper": null}], "empty": {}}}},
  {"name": "bare", "inputSchema": {"type": "object"}}
 ]
}`

// Schemas and all else of a tool come as the server wrote them: no key is lost,
// renamed or inlined. (C19)
func TestToolsAreUnchanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	line := compact(t, everySchema)
	w := wire(func(method string, _ json.RawMessage) string {
		if method == "tools/list" {
			return line
		}
		return ""
	})
	direct, err := w.direct(t).ListTools(b.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.worker(worker.Options{}, func(ctx workflow.Context) (list *mcp.ListToolsResult, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "wire"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			list, err = ts.ListTools(ctx)
			return err
		})
		return list, err
	}, session.Server{Name: "wire", Connect: w.connector})
	var got *mcp.ListToolsResult
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got, want := asJSON(t, got), asJSON(t, direct); got != want {
		t.Errorf("got %s\na direct client gets %s", got, want)
	}
	var sent mcp.ListToolsResult
	if err := json.Unmarshal([]byte(everySchema), &sent); err != nil {
		t.Fatal(err)
	}
	for i, tool := range got.Tools {
		var raw struct{ Tools []map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(everySchema), &raw); err != nil {
			t.Fatal(err)
		}
		if got, want := asJSON(t, tool.InputSchema), asJSON(t, raw.Tools[i]["inputSchema"]); got != want {
			t.Errorf("tool %s: got the schema %s\nthe server sent %s", tool.Name, got, want)
		}
	}
}
