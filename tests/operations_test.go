package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

// A library is a wire that has everything that MCP has to list and to read, in
// pages of one item, with every field.
func library(t *testing.T) wire {
	prompt := `{"name":"greet","title":"Greet","description":"says hello","arguments":[{"name":"who","title":"Who","description":"whom","required":true}],
		"icons":[{"src":"https://example.com/i.png","mimeType":"image/png","sizes":["48x48"]}],"_meta":{"a":{"b":[1,null]}}}`
	resource := `{"uri":"mem:///one","name":"one","title":"One","description":"first","mimeType":"text/plain","size":12,
		"annotations":{"audience":["user"],"priority":0.5},"icons":[{"src":"https://example.com/r.png"}],"_meta":{"c":"d"}}`
	template := `{"uriTemplate":"mem:///{id}","name":"by-id","title":"By id","description":"each","mimeType":"text/plain","annotations":{"priority":1},"_meta":{"e":1}}`
	pages := func(list, first string) map[string]string {
		second := strings.NewReplacer("greet", "part", "mem:///one", "mem:///two", "by-id", "by-name").Replace(first)
		return map[string]string{
			"":  fmt.Sprintf(`{%q:[%s],"nextCursor":"2","_meta":{"page":1}}`, list, first),
			"2": fmt.Sprintf(`{%q:[%s]}`, list, second),
		}
	}
	answers := map[string]map[string]string{
		"prompts/list":             pages("prompts", prompt),
		"resources/list":           pages("resources", resource),
		"resources/templates/list": pages("resourceTemplates", template),
		"prompts/get": {"": `{"description":"a greeting","messages":[
			{"role":"user","content":{"type":"text","text":"hello ü <b>"}},
			{"role":"assistant","content":{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}},
			{"role":"user","content":{"type":"resource","resource":{"uri":"mem:///one","text":"embedded"}}}],"_meta":{"f":1}}`},
		"resources/read": {"": `{"contents":[
			{"uri":"mem:///one","mimeType":"text/plain","text":"1234567890123456789 1e400","_meta":{"g":1}},
			{"uri":"mem:///one","mimeType":"application/octet-stream","blob":"AAEC/w=="},
			{"uri":"mem:///one","text":""}],"_meta":{"h":null}}`},
		"completion/complete": {"": `{"completion":{"values":["ann","anton"],"total":7,"hasMore":true},"_meta":{"i":1}}`},
	}
	for _, byCursor := range answers {
		for cursor, answer := range byCursor {
			byCursor[cursor] = compact(t, answer)
		}
	}
	return func(method string, params json.RawMessage) string {
		var p struct{ Cursor string }
		_ = json.Unmarshal(params, &p)
		if method == "initialize" {
			return `{"protocolVersion":"2025-11-25","capabilities":{"prompts":{},"resources":{},"completions":{}},"serverInfo":{"name":"library","version":"1"}}`
		}
		return answers[method][p.Cursor]
	}
}

// everything that is asked of a library, beside tools.
type libraryAnswers struct {
	Prompts   *mcp.ListPromptsResult
	Prompt    *mcp.GetPromptResult
	Resources *mcp.ListResourcesResult
	Templates *mcp.ListResourceTemplatesResult
	Resource  *mcp.ReadResourceResult
	Complete  *mcp.CompleteResult
}

var completion = &mcp.CompleteParams{
	Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
	Argument: mcp.CompleteParamsArgument{Name: "who", Value: "an"},
	Context:  &mcp.CompleteContext{Arguments: map[string]string{"a": "b"}},
}

// Every list, prompt, resource and completion comes through the session, the
// envelope and the data converter as an MCP client next to the server gets it, with
// every field; a list of several pages in one activity and without a cursor. (C20)
func TestOperationsAreUnchanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := library(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got libraryAnswers, err error) {
		return got, toolset.With(ctx, toolset.Options{Server: "wire"}, func(ctx workflow.Context, ts *toolset.Toolset) (err error) {
			if got.Prompts, err = ts.ListPrompts(ctx); err != nil {
				return err
			}
			if got.Prompt, err = ts.GetPrompt(ctx, "greet", map[string]string{"who": "you"}); err != nil {
				return err
			}
			if got.Resources, err = ts.ListResources(ctx); err != nil {
				return err
			}
			if got.Templates, err = ts.ListResourceTemplates(ctx); err != nil {
				return err
			}
			if got.Resource, err = ts.ReadResource(ctx, "mem:///one"); err != nil {
				return err
			}
			got.Complete, err = ts.Complete(ctx, completion)
			return err
		})
	}, session.Server{Name: "wire", Connect: w.connector})
	run := b.start()
	var got libraryAnswers
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(jsonOf(t, w.ask(t)), jsonOf(t, got)); diff != "" {
		t.Errorf("what came is not what the server says (-server +workflow):\n%s", diff)
	}
	if len(got.Prompts.Prompts) != 2 || len(got.Resources.Resources) != 2 || len(got.Templates.ResourceTemplates) != 2 {
		t.Errorf("the lists are not whole: %s", jsonOf(t, got))
	}
	for _, operation := range []string{"list-prompts", "get-prompt", "list-resources", "list-resource-templates", "read-resource", "complete"} {
		if n := len(b.activities(run, "mcp.wire."+operation)); n != 1 {
			t.Errorf("%s took %d activities", operation, n)
		}
	}
}

// ask asks the wire for the same by an MCP client of the SDK.
func (w wire) ask(t *testing.T) (want libraryAnswers) {
	t.Helper()
	s, ctx := w.direct(t), t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	want.Prompts, err = s.ListPrompts(ctx, nil)
	check(err)
	for p, err := range s.Prompts(ctx, &mcp.ListPromptsParams{Cursor: want.Prompts.NextCursor}) {
		check(err)
		want.Prompts.Prompts = append(want.Prompts.Prompts, p)
	}
	want.Resources, err = s.ListResources(ctx, nil)
	check(err)
	for r, err := range s.Resources(ctx, &mcp.ListResourcesParams{Cursor: want.Resources.NextCursor}) {
		check(err)
		want.Resources.Resources = append(want.Resources.Resources, r)
	}
	want.Templates, err = s.ListResourceTemplates(ctx, nil)
	check(err)
	for r, err := range s.ResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: want.Templates.NextCursor}) {
		check(err)
		want.Templates.ResourceTemplates = append(want.Templates.ResourceTemplates, r)
	}
	want.Prompts.NextCursor, want.Resources.NextCursor, want.Templates.NextCursor = "", "", ""
	want.Prompt, err = s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "you"}})
	check(err)
	want.Resource, err = s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "mem:///one"})
	check(err)
	want.Complete, err = s.Complete(ctx, completion)
	check(err)
	return want
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A server that lacks a capability, or has it and refuses, answers with a JSON-RPC
// error, which is the operation's; the session goes on.
func TestOperationsThatTheServerLacks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got map[string]fault, err error) {
		got = make(map[string]fault)
		return got, toolset.With(ctx, toolset.Options{Server: "tools"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			_, err := ts.ListPrompts(ctx)
			got["prompts"] = faultOf(err)
			_, err = ts.GetPrompt(ctx, "greet", nil)
			got["prompt"] = faultOf(err)
			_, err = ts.ListResources(ctx)
			got["resources"] = faultOf(err)
			_, err = ts.ReadResource(ctx, "mem:///none")
			got["resource"] = faultOf(err)
			_, err = ts.Complete(ctx, completion)
			got["complete"] = faultOf(err)
			_, err = call(ctx, ts, "ok", nil)
			return err
		})
	}, inMemory("tools", func() *mcp.Server {
		return serverOf("ok", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return texts("ok"), nil })
	}))
	var got map[string]fault
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	for what, f := range got {
		// A server of the MCP SDK lists nothing where it has nothing.
		if strings.HasSuffix(what, "s") && f.Text == "" {
			continue
		}
		if f.Type != failure.TypeMCPProtocol {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

// What makes no sense is refused before anything is scheduled.
func TestOperationsRefuseBadInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []string, err error) {
		options := toolset.Options{Server: "wire", MaxArguments: 100}
		return got, toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			long := strings.Repeat("x", 200)
			_, err1 := ts.GetPrompt(ctx, "", nil)
			_, err2 := ts.GetPrompt(ctx, "greet", map[string]string{"who": long})
			_, err3 := ts.ReadResource(ctx, "")
			_, err4 := ts.ReadResource(ctx, long)
			_, err5 := ts.Complete(ctx, nil)
			for _, err := range []error{err1, err2, err3, err4, err5} {
				got = append(got, fmt.Sprint(err))
			}
			return nil
		})
	}, session.Server{Name: "wire", Connect: library(t).connector})
	run := b.start()
	var got []string
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	for i, words := range [][]string{
		{`"wire"`, "prompt's name is empty"}, {"prompt's name and arguments", "at most 100"}, {"URI is empty"}, {"URI", "at most 100"}, {"Ref"},
	} {
		mentions(t, got[i], words...)
	}
	if n := len(b.activities(run, "mcp.wire.get-prompt")) + len(b.activities(run, "mcp.wire.read-resource")) + len(b.activities(run, "mcp.wire.complete")); n != 0 {
		t.Errorf("%d activities were scheduled", n)
	}
}

// A server that has no tools, and one that says it has everything and refuses it
// all, answer with JSON-RPC errors, each of which is its operation's.
func TestOperationsOfOddServers(t *testing.T) {
	t.Parallel()
	refuses := func(method string, _ json.RawMessage) string {
		switch method {
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{}},"serverInfo":{"name":"liar","version":"1"}}`
		case "ping":
			return ""
		}
		return `"error":{"code":-32601,"message":"not here"}`
	}
	for name, test := range map[string]struct {
		wire    wire
		refused string // of tools, prompts, resources
	}{
		"everything is refused": {refuses, "[tools prompts resources]"},
		"no tools": {func(method string, params json.RawMessage) string {
			if method == "tools/list" {
				return refuses(method, params)
			}
			return library(t)(method, params)
		}, "[tools]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(worker.Options{}, func(ctx workflow.Context) (got []string, err error) {
				return got, toolset.With(ctx, toolset.Options{Server: "wire"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
					_, tools := ts.ListTools(ctx)
					_, prompts := ts.ListPrompts(ctx)
					_, resources := ts.ListResources(ctx)
					for i, err := range []error{tools, prompts, resources} {
						d, refused := failure.MCPProtocol(err)
						if refused && d.Code == -32601 {
							got = append(got, []string{"tools", "prompts", "resources"}[i])
						} else if err != nil {
							return err
						}
					}
					return nil
				})
			}, session.Server{Name: "wire", Connect: test.wire.connector})
			var got []string
			if err := b.start().Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != test.refused {
				t.Errorf("refused: %v, want %s", got, test.refused)
			}
		})
	}
}
