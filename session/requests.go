package session

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/queue"
)

// A request is what an operation asks of an MCP server. Its result is a pointer to
// the MCP SDK's own type.
type request func(context.Context, *mcp.ClientSession) (any, error)

func requestListTools(queue.ListTools) request {
	return func(ctx context.Context, client *mcp.ClientSession) (any, error) {
		return listAll("tool", func(cursor string) (*mcp.ListToolsResult, error) {
			return client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		}, func(r *mcp.ListToolsResult) (*[]*mcp.Tool, *string) { return &r.Tools, &r.NextCursor })
	}
}

func requestCallTool(in queue.CallTool) request {
	params := &mcp.CallToolParams{Name: in.Tool}
	if len(in.Arguments) > 0 {
		params.Arguments = in.Arguments
	}
	return func(ctx context.Context, client *mcp.ClientSession) (any, error) {
		return client.CallTool(ctx, params)
	}
}

func requestListPrompts(queue.ListPrompts) request {
	return func(ctx context.Context, client *mcp.ClientSession) (any, error) {
		return listAll("prompt", func(cursor string) (*mcp.ListPromptsResult, error) {
			return client.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
		}, func(r *mcp.ListPromptsResult) (*[]*mcp.Prompt, *string) { return &r.Prompts, &r.NextCursor })
	}
}

func requestGetPrompt(in queue.GetPrompt) request {
	return func(ctx context.Context, client *mcp.ClientSession) (any, error) {
		return client.GetPrompt(ctx, &mcp.GetPromptParams{Name: in.Name, Arguments: in.Arguments})
	}
}

func requestListResources(queue.ListResources) request {
	return func(ctx context.Context, client *mcp.ClientSession) (any, error) {
		return listAll("resource", func(cursor string) (*mcp.ListResourcesResult, error) {
			return client.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		}, func(r *mcp.ListResourcesResult) (*[]*mcp.Resource, *string) { return &r.Resources, &r.NextCursor })
	}
}

func requestListResourceTemplates(queue.ListResourceTemplates) request {
	return func(ctx context.Context, client *mcp.ClientSession) (any, error) {
		return listAll("resource template", func(cursor string) (*mcp.ListResourceTemplatesResult, error) {
			return client.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		}, func(r *mcp.ListResourceTemplatesResult) (*[]*mcp.ResourceTemplate, *string) {
			return &r.ResourceTemplates, &r.NextCursor
		})
	}
}

func requestReadResource(in queue.ReadResource) request {
	return func(ctx context.Context, client *mcp.ClientSession) (any, error) {
		return client.ReadResource(ctx, &mcp.ReadResourceParams{URI: in.URI})
	}
}

func requestComplete(in queue.Complete) request {
	params := in.Params
	if params == nil {
		params = &mcp.CompleteParams{} // the server says what is missing
	}
	return func(ctx context.Context, client *mcp.ClientSession) (any, error) {
		return client.Complete(ctx, params)
	}
}
