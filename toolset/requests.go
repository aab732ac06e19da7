package toolset

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// ListPrompts returns all prompts of the server, every page of them. Its errors are
// those of [Toolset.CallTool], as are those of the methods below.
func (ts *Toolset) ListPrompts(ctx workflow.Context) (*mcp.ListPromptsResult, error) {
	return request[mcp.ListPromptsResult](ctx, ts, queue.OperationListPrompts, 0, func(op queue.Operation) any {
		return queue.ListPrompts{Operation: op}
	})
}

// GetPrompt returns a prompt, filled in with arguments, which may be nil.
func (ts *Toolset) GetPrompt(ctx workflow.Context, name string, arguments map[string]string) (*mcp.GetPromptResult, error) {
	if name == "" {
		return nil, fmt.Errorf("toolset: server %q: the prompt's name is empty", ts.settings.Server)
	}
	if err := ts.checkSize("the prompt's name and arguments", queue.GetPrompt{Name: name, Arguments: arguments}); err != nil {
		return nil, err
	}
	return request[mcp.GetPromptResult](ctx, ts, queue.OperationGetPrompt, ts.settings.MaxResult, func(op queue.Operation) any {
		return queue.GetPrompt{Operation: op, Name: name, Arguments: arguments}
	})
}

// ListResources returns all resources of the server, every page of them.
func (ts *Toolset) ListResources(ctx workflow.Context) (*mcp.ListResourcesResult, error) {
	return request[mcp.ListResourcesResult](ctx, ts, queue.OperationListResources, 0, func(op queue.Operation) any {
		return queue.ListResources{Operation: op}
	})
}

// ListResourceTemplates returns all resource templates of the server, every page of
// them.
func (ts *Toolset) ListResourceTemplates(ctx workflow.Context) (*mcp.ListResourceTemplatesResult, error) {
	return request[mcp.ListResourceTemplatesResult](ctx, ts, queue.OperationListResourceTemplates, 0, func(op queue.Operation) any {
		return queue.ListResourceTemplates{Operation: op}
	})
}

// ReadResource returns the contents of a resource.
func (ts *Toolset) ReadResource(ctx workflow.Context, uri string) (*mcp.ReadResourceResult, error) {
	if uri == "" {
		return nil, fmt.Errorf("toolset: server %q: the resource's URI is empty", ts.settings.Server)
	}
	if err := ts.checkSize("the resource's URI", uri); err != nil {
		return nil, err
	}
	return request[mcp.ReadResourceResult](ctx, ts, queue.OperationReadResource, ts.settings.MaxResult, func(op queue.Operation) any {
		return queue.ReadResource{Operation: op, URI: uri}
	})
}

// Complete returns completions of an argument of a prompt or of a resource
// template.
func (ts *Toolset) Complete(ctx workflow.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	if params == nil || params.Ref == nil {
		return nil, fmt.Errorf("toolset: server %q: completion needs params with a Ref to a prompt or a resource template", ts.settings.Server)
	}
	if err := ts.checkSize("the params of the completion", params); err != nil {
		return nil, err
	}
	return request[mcp.CompleteResult](ctx, ts, queue.OperationComplete, 0, func(op queue.Operation) any {
		return queue.Complete{Operation: op, Params: params}
	})
}

// request schedules an operation that is not the call of a tool, and waits for its
// result. MaxResult bounds that; zero is no bound.
func request[R any](ctx workflow.Context, ts *Toolset, name queue.OperationName, maxResult int, input func(queue.Operation) any) (*R, error) {
	if err := ts.usable(ctx, ""); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	options, timeout, err := ts.activity(name, "")
	if err != nil {
		return nil, err
	}
	op := ts.operation(timeout)
	op.MaxResult = maxResult
	var result queue.Result[R]
	if err := ts.await(ctx, ts.schedule(ctx, name, input(op), options), &result); err != nil {
		return nil, err
	}
	ts.noteTools(result.ToolsChanged)
	return calls.Value(ts.settings.Server, "", result)
}

// noteTools takes note of what a result says of the tool list.
func (ts *Toolset) noteTools(changed bool) {
	if changed {
		ts.tools, ts.listed = nil, nil
		ts.toolChanges++
	}
}

// checkSize returns an error when what is to be sent is over MaxArguments: the
// server would fail the workflow task, again and again.
func (ts *Toolset) checkSize(what string, value any) error {
	if err := calls.CheckSize(what, value, ts.settings.MaxArguments); err != nil {
		return fmt.Errorf("toolset: server %q: %w", ts.settings.Server, err)
	}
	return nil
}
