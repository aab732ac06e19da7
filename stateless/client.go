package stateless

import (
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/toolset"
)

// A Client calls one MCP server that keeps no state. Its methods take the context
// under which their activities are scheduled. It belongs to one run, holds nothing
// outside of it, and need not be closed. Several coroutines of the run may share it.
type Client struct {
	settings *settings
	// listed is the tool list that came last.
	listed *mcp.ListToolsResult
}

var _ toolset.Caller = (*Client)(nil)

// New returns a client. It schedules nothing: what it returns is an error for options
// that make no sense, which names the field.
func New(ctx workflow.Context, options Options) (*Client, error) {
	settings, err := options.resolve()
	if err != nil {
		return nil, err
	}
	if ctx == nil {
		return nil, errors.New("stateless: New needs the workflow's context")
	}
	return &Client{settings: settings}, nil
}

// Server returns the server's name.
func (c *Client) Server() string { return c.settings.Server }

// ListTools returns all tools of the server, every page of them. The list is kept in
// the client, and returned again without an activity, unless Options.UncachedTools is
// set. The result must not be changed.
func (c *Client) ListTools(ctx workflow.Context) (*mcp.ListToolsResult, error) {
	if c.listed != nil && !c.settings.UncachedTools {
		return c.listed, nil
	}
	listed, err := request[mcp.ListToolsResult](ctx, c, queue.OperationListTools, 0, func(op queue.Operation) queue.ListTools {
		return queue.ListTools{Operation: op}
	})
	if err == nil {
		c.listed = listed
	}
	return listed, err
}

// Discover returns the tools of the server as a set, to choose from and to call.
func (c *Client) Discover(ctx workflow.Context) (*toolset.Tools, error) {
	listed, err := c.ListTools(ctx)
	if err != nil {
		return nil, err
	}
	return toolset.NewTools(c, listed.Tools)
}

// CallTool calls a tool and waits for its result. The arguments are anything that
// encodes to a JSON object, a json.RawMessage among them, whose digits are kept; nil
// is an empty object.
//
// A result with IsError set is returned as a result. Errors are those of package
// failure; see the package comment for how often the tool runs. It is a CanceledError
// when ctx is cancelled, which cancels the request on the server, too.
func (c *Client) CallTool(ctx workflow.Context, tool string, arguments any) (*mcp.CallToolResult, error) {
	p, err := c.scheduleCall(ctx, tool, arguments)
	if err != nil {
		return nil, err
	}
	return await[mcp.CallToolResult](ctx, p)
}

// CallToolAsync calls a tool and returns a future for its result, of type
// *mcp.CallToolResult, and its error, which are those of [Client.CallTool]. The future
// is one of workflow.NewFuture: selectors take it. The call is scheduled before
// CallToolAsync returns.
func (c *Client) CallToolAsync(ctx workflow.Context, tool string, arguments any) workflow.Future {
	future, settable := workflow.NewFuture(ctx)
	p, err := c.scheduleCall(ctx, tool, arguments)
	if err != nil {
		settable.SetError(err)
		return future
	}
	workflow.GoNamed(ctx, "mcpsession: await "+calls.Clip(tool), func(ctx workflow.Context) {
		result, err := await[mcp.CallToolResult](ctx, p)
		settable.Set(result, err)
	})
	return future
}

func (c *Client) scheduleCall(ctx workflow.Context, tool string, arguments any) (*pending, error) {
	if err := calls.CheckTool(tool); err != nil {
		return nil, fmt.Errorf("stateless: server %q: %w", c.settings.Server, err)
	}
	raw, err := calls.EncodeArguments(arguments, c.settings.MaxArguments)
	if err != nil {
		return nil, fmt.Errorf("stateless: tool %q of server %q: %w", calls.Clip(tool), c.settings.Server, err)
	}
	return schedule(ctx, c, queue.OperationCallTool, tool, c.settings.MaxResult, func(op queue.Operation) queue.CallTool {
		return queue.CallTool{Operation: op, Tool: tool, Arguments: raw}
	})
}
