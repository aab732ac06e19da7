package stateless

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// ListPrompts returns all prompts of the server, every page of them. Its errors are
// those of [Client.CallTool], as are those of the methods below.
func (c *Client) ListPrompts(ctx workflow.Context) (*mcp.ListPromptsResult, error) {
	return request[mcp.ListPromptsResult](ctx, c, queue.OperationListPrompts, 0, func(op queue.Operation) queue.ListPrompts {
		return queue.ListPrompts{Operation: op}
	})
}

// GetPrompt returns a prompt, filled in with arguments, which may be nil.
func (c *Client) GetPrompt(ctx workflow.Context, name string, arguments map[string]string) (*mcp.GetPromptResult, error) {
	if name == "" {
		return nil, fmt.Errorf("stateless: server %q: the prompt's name is empty", c.settings.Server)
	}
	if err := c.checkSize("the prompt's name and arguments", queue.GetPrompt{Name: name, Arguments: arguments}); err != nil {
		return nil, err
	}
	return request[mcp.GetPromptResult](ctx, c, queue.OperationGetPrompt, c.settings.MaxResult, func(op queue.Operation) queue.GetPrompt {
		return queue.GetPrompt{Operation: op, Name: name, Arguments: arguments}
	})
}

// ListResources returns all resources of the server, every page of them.
func (c *Client) ListResources(ctx workflow.Context) (*mcp.ListResourcesResult, error) {
	return request[mcp.ListResourcesResult](ctx, c, queue.OperationListResources, 0, func(op queue.Operation) queue.ListResources {
		return queue.ListResources{Operation: op}
	})
}

// ListResourceTemplates returns all resource templates of the server, every page of
// them.
func (c *Client) ListResourceTemplates(ctx workflow.Context) (*mcp.ListResourceTemplatesResult, error) {
	return request[mcp.ListResourceTemplatesResult](ctx, c, queue.OperationListResourceTemplates, 0,
		func(op queue.Operation) queue.ListResourceTemplates {
			return queue.ListResourceTemplates{Operation: op}
		})
}

// ReadResource returns the contents of a resource.
func (c *Client) ReadResource(ctx workflow.Context, uri string) (*mcp.ReadResourceResult, error) {
	if uri == "" {
		return nil, fmt.Errorf("stateless: server %q: the resource's URI is empty", c.settings.Server)
	}
	if err := c.checkSize("the resource's URI", uri); err != nil {
		return nil, err
	}
	return request[mcp.ReadResourceResult](ctx, c, queue.OperationReadResource, c.settings.MaxResult, func(op queue.Operation) queue.ReadResource {
		return queue.ReadResource{Operation: op, URI: uri}
	})
}

// Complete returns completions of an argument of a prompt or of a resource template.
func (c *Client) Complete(ctx workflow.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if params == nil || params.Ref == nil {
		return nil, fmt.Errorf("stateless: server %q: completion needs params with a Ref to a prompt or a resource template", c.settings.Server)
	}
	if err := c.checkSize("the params of the completion", params); err != nil {
		return nil, err
	}
	return request[mcp.CompleteResult](ctx, c, queue.OperationComplete, 0, func(op queue.Operation) queue.Complete {
		return queue.Complete{Operation: op, Params: params}
	})
}

// A pending is an operation that was scheduled.
type pending struct {
	client *Client
	name   queue.OperationName
	tool   string
	result workflow.Future
}

// schedule schedules an operation. MaxResult bounds its result; zero is no bound.
func schedule[O any](ctx workflow.Context, c *Client, name queue.OperationName, tool string, maxResult int,
	input func(queue.Operation) O) (*pending, error) {
	if workflow.IsReadOnly(ctx) {
		return nil, fmt.Errorf("stateless: server %q: it can't be called in a query handler, an update validator or a side effect", c.settings.Server)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	options, op, err := c.activity(ctx, name, tool)
	if err != nil {
		return nil, err
	}
	op.MaxResult = maxResult
	return &pending{client: c, name: name, tool: tool, result: workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options),
		queue.StatelessActivity(c.settings.Server, name), queue.Stateless[O]{
			Argument: c.settings.argument, ConnectTimeout: c.settings.ConnectTimeout, PerCall: c.settings.PerCall, Operation: input(op),
		})}, nil
}

// await waits for the result of an operation.
func await[R any](ctx workflow.Context, p *pending) (*R, error) {
	var result queue.Result[R]
	if err := p.result.Get(ctx, &result); err != nil {
		return nil, calls.Own{Server: p.client.settings.Server, Operation: p.name, Tool: p.tool, What: "call"}.Failure(err)
	}
	return calls.Value(p.client.settings.Server, p.tool, result)
}

// request schedules an operation that is not the call of a tool, and waits for its
// result.
func request[R, O any](ctx workflow.Context, c *Client, name queue.OperationName, maxResult int, input func(queue.Operation) O) (*R, error) {
	p, err := schedule(ctx, c, name, "", maxResult, input)
	if err != nil {
		return nil, err
	}
	return await[R](ctx, p)
}

// checkSize returns an error when what is to be sent is over MaxArguments: the server
// would fail the workflow task, again and again.
func (c *Client) checkSize(what string, value any) error {
	if err := calls.CheckSize(what, value, c.settings.MaxArguments); err != nil {
		return fmt.Errorf("stateless: server %q: %w", c.settings.Server, err)
	}
	return nil
}
