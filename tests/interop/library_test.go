package interop

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

// A library is what a server has besides tools: its lists, one prompt, its first
// resources and a completion.
type library struct {
	Prompts   *mcp.ListPromptsResult
	Resources *mcp.ListResourcesResult
	Templates *mcp.ListResourceTemplatesResult
	Prompt    *mcp.GetPromptResult
	Contents  []*mcp.ReadResourceResult
	Complete  *mcp.CompleteResult
	Refused   []string // operations that were answered with a JSON-RPC error
}

// A librarian asks for a library, by whatever client.
type librarian struct {
	prompts   func() (*mcp.ListPromptsResult, error)
	prompt    func(name string, arguments map[string]string) (*mcp.GetPromptResult, error)
	resources func() (*mcp.ListResourcesResult, error)
	templates func() (*mcp.ListResourceTemplatesResult, error)
	read      func(uri string) (*mcp.ReadResourceResult, error)
	complete  func(*mcp.CompleteParams) (*mcp.CompleteResult, error)
	refusal   func(error) bool
}

// resourcesRead is how many of a server's resources are read.
const resourcesRead = 3

func (l librarian) ask() (got library, err error) {
	note := func(what string, e error) {
		switch {
		case e == nil:
		case l.refusal(e):
			got.Refused = append(got.Refused, what)
		default:
			err = errors.Join(err, e)
		}
	}
	var e error
	got.Prompts, e = l.prompts()
	note("list prompts", e)
	got.Resources, e = l.resources()
	note("list resources", e)
	got.Templates, e = l.templates()
	note("list resource templates", e)
	if got.Prompts != nil && len(got.Prompts.Prompts) > 0 {
		prompts := got.Prompts.Prompts
		first := prompts[0]
		arguments := make(map[string]string)
		for _, a := range first.Arguments {
			arguments[a.Name] = "1"
		}
		got.Prompt, e = l.prompt(first.Name, arguments)
		note("get "+first.Name, e)
		last := prompts[len(prompts)-1]
		if len(last.Arguments) > 0 {
			got.Complete, e = l.complete(&mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: last.Name},
				Argument: mcp.CompleteParamsArgument{Name: last.Arguments[0].Name, Value: "E"},
			})
			note("complete "+last.Name, e)
		}
	}
	if got.Resources != nil {
		for i, r := range got.Resources.Resources {
			if i == resourcesRead {
				break
			}
			contents, e := l.read(r.URI)
			note("read "+r.URI, e)
			got.Contents = append(got.Contents, contents)
		}
	}
	return got, err
}

// askInBlock is the step "library" of a driver.
func askInBlock(ctx workflow.Context, ts *toolset.Toolset) (library, error) {
	return librarian{
		prompts:   func() (*mcp.ListPromptsResult, error) { return ts.ListPrompts(ctx) },
		resources: func() (*mcp.ListResourcesResult, error) { return ts.ListResources(ctx) },
		templates: func() (*mcp.ListResourceTemplatesResult, error) { return ts.ListResourceTemplates(ctx) },
		prompt: func(name string, arguments map[string]string) (*mcp.GetPromptResult, error) {
			return ts.GetPrompt(ctx, name, arguments)
		},
		read:     func(uri string) (*mcp.ReadResourceResult, error) { return ts.ReadResource(ctx, uri) },
		complete: func(p *mcp.CompleteParams) (*mcp.CompleteResult, error) { return ts.Complete(ctx, p) },
		refusal:  failure.IsMCPProtocol,
	}.ask()
}

// askDirectly asks by an MCP client of the SDK. It reads the first page of lists.
func askDirectly(ctx context.Context, c *mcp.ClientSession) (library, error) {
	return librarian{
		prompts:   func() (*mcp.ListPromptsResult, error) { return c.ListPrompts(ctx, nil) },
		resources: func() (*mcp.ListResourcesResult, error) { return c.ListResources(ctx, nil) },
		templates: func() (*mcp.ListResourceTemplatesResult, error) { return c.ListResourceTemplates(ctx, nil) },
		prompt: func(name string, arguments map[string]string) (*mcp.GetPromptResult, error) {
			return c.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: arguments})
		},
		read: func(uri string) (*mcp.ReadResourceResult, error) {
			return c.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		},
		complete: func(p *mcp.CompleteParams) (*mcp.CompleteResult, error) { return c.Complete(ctx, p) },
		refusal: func(err error) bool {
			var rpc *jsonrpc.Error
			return errors.As(err, &rpc)
		},
	}.ask()
}

// Every operation besides tools gives on each server what it gives an MCP client
// next to it, refusals among it: a server that lacks a capability says so.
func TestInteropOperations(t *testing.T) {
	t.Parallel()
	for _, r := range rows {
		t.Run(r.server+"/"+string(r.over), func(t *testing.T) {
			t.Parallel()
			v := r.visit(t, session.DefaultProtocolVersion)
			defer v.leave()
			block := v.open("only")
			var got library
			v.step("library", "only").must(&got)
			block.close()
			direct := v.connect()
			want, err := askDirectly(v.ctx, direct)
			if err := errors.Join(err, direct.Close()); err != nil {
				t.Fatal(err)
			}
			v.wantSame("library", want, got)
			if got.Prompt != nil || len(got.Contents) > 0 {
				v.Logf("prompt: %v, resources read: %d, completed: %v, refused: %q", got.Prompt != nil, len(got.Contents), got.Complete != nil, got.Refused)
			}
		})
	}
}
