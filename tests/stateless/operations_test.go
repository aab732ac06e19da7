package stateless

import (
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// An everything is what a workflow saw of every operation.
type everything struct {
	Tools, Again []string
	Call, Async  string
	Typed        string
	Prompts      []string
	Prompt       string
	Resources    []string
	Templates    []string
	Read         string
	Completed    []string
}

func useEverything(ctx workflow.Context, c *stateless.Client) (got everything, err error) {
	tools, err := c.ListTools(ctx)
	if err != nil {
		return got, err
	}
	got.Tools = names(tools.Tools, func(t *mcp.Tool) string { return t.Name })
	set, err := c.Discover(ctx) // without an activity
	if err != nil {
		return got, err
	}
	got.Again = set.Names()
	result, err := c.CallTool(ctx, fixture.Echo, map[string]any{"a": 1})
	if err != nil {
		return got, err
	}
	got.Call = fixture.Text(result)
	var later *mcp.CallToolResult
	if err := c.CallToolAsync(ctx, fixture.Echo, map[string]any{"a": 2}).Get(ctx, &later); err != nil {
		return got, err
	}
	got.Async = fixture.Text(later)
	typed, err := toolset.Call[map[string]int](ctx, c, fixture.Echo, map[string]any{"a": 3})
	if err != nil {
		return got, err
	}
	got.Typed = string(rune('0' + typed["a"]))
	prompts, err := c.ListPrompts(ctx)
	if err != nil {
		return got, err
	}
	got.Prompts = names(prompts.Prompts, func(p *mcp.Prompt) string { return p.Name })
	prompt, err := c.GetPrompt(ctx, "greet", map[string]string{"who": "Ada"})
	if err != nil {
		return got, err
	}
	got.Prompt = prompt.Messages[0].Content.(*mcp.TextContent).Text
	resources, err := c.ListResources(ctx)
	if err != nil {
		return got, err
	}
	got.Resources = names(resources.Resources, func(r *mcp.Resource) string { return r.URI })
	templates, err := c.ListResourceTemplates(ctx)
	if err != nil {
		return got, err
	}
	got.Templates = names(templates.ResourceTemplates, func(r *mcp.ResourceTemplate) string { return r.URITemplate })
	read, err := c.ReadResource(ctx, "note://two")
	if err != nil {
		return got, err
	}
	got.Read = read.Contents[0].Text
	completed, err := c.Complete(ctx, &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "A"},
	})
	if err != nil {
		return got, err
	}
	got.Completed = completed.Completion.Values
	return got, nil
}

func names[T any](all []T, name func(T) string) (list []string) {
	for _, each := range all {
		list = append(list, name(each))
	}
	return list
}

// Every operation works over every transport, on connections that are shared and on
// those that are not, each as one activity of its own name. The second list of tools
// costs none.
func TestOperations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		connect func(b *bundle) transport.Connector
		version string
	}{
		"stdio":                  {func(b *bundle) transport.Connector { return overStdio(b.TaskQueue) }, ""},
		"stdio, legacy":          {func(b *bundle) transport.Connector { return overStdio(b.TaskQueue) }, session.DefaultProtocolVersion},
		"HTTP without sessions":  {func(b *bundle) transport.Connector { return b.overHTTP(false) }, ""},
		"HTTP with sessions":     {func(b *bundle) transport.Connector { return b.overHTTP(true) }, ""},
		"HTTP, stateless legacy": {func(b *bundle) transport.Connector { return b.overHTTP(false) }, session.DefaultProtocolVersion},
		"in memory":              {func(*bundle) transport.Connector { return inMemory() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			s := session.Server{Name: "server", Connect: test.connect(b), ProtocolVersion: test.version}
			b.worker(session.Options{Servers: []session.Server{s}})
			run := begin(b, stateless.Options{}, useEverything)
			got := run.Result()
			if !slices.Contains(got.Tools, effect) || !slices.Equal(got.Tools, got.Again) {
				t.Errorf("listed %q, then %q", got.Tools, got.Again)
			}
			if got.Call != `{"a":1}` || got.Async != `{"a":2}` || got.Typed != "3" {
				t.Errorf("the calls returned %q, %q and %q", got.Call, got.Async, got.Typed)
			}
			if !slices.Equal(got.Prompts, []string{"greet"}) || got.Prompt != "Greet Ada." {
				t.Errorf("prompts %q, %q", got.Prompts, got.Prompt)
			}
			if !slices.Equal(got.Resources, []string{"note://one"}) || !slices.Equal(got.Templates, []string{"note://{name}"}) || got.Read != "read note://two" {
				t.Errorf("resources %q, templates %q, read %q", got.Resources, got.Templates, got.Read)
			}
			if !slices.Equal(got.Completed, []string{"Ada"}) {
				t.Errorf("completed %q", got.Completed)
			}
			var types []string
			for _, a := range b.Activities(run) {
				types = append(types, a.Type)
			}
			var want []string
			for _, operation := range []queue.OperationName{
				queue.OperationListTools, queue.OperationCallTool, queue.OperationCallTool, queue.OperationCallTool, queue.OperationListPrompts,
				queue.OperationGetPrompt, queue.OperationListResources, queue.OperationListResourceTemplates, queue.OperationReadResource,
				queue.OperationComplete,
			} {
				want = append(want, queue.StatelessActivity("server", operation))
			}
			if !slices.Equal(types, want) {
				t.Errorf("the activities are %q, want %q", types, want)
			}
		})
	}
}
