package toolset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/queue"
)

// ListTools returns all tools of the server, every page of them. The list is kept
// in the block, and returned again without an activity, unless the server
// declares that it may change; see Options.CacheTools. The result must not be
// changed.
func (ts *Toolset) ListTools(ctx workflow.Context) (*mcp.ListToolsResult, error) {
	if err := ts.usable(ctx, ""); err != nil {
		return nil, err
	}
	if ts.tools != nil {
		return ts.tools, nil
	}
	options, timeout, err := ts.settings.operation(queue.OperationListTools, "")
	if err != nil {
		return nil, err
	}
	changes := ts.toolChanges
	c := ts.schedule(ctx, queue.OperationListTools, queue.ListTools{Operation: ts.operation(timeout)}, options)
	var result queue.Result[mcp.ListToolsResult]
	if err := ts.await(ctx, c, &result); err != nil {
		return nil, err
	}
	// A list that the server has said to be old while it was on its way is not kept.
	if (ts.settings.CacheTools || !ts.declaresListChanged()) && !result.ToolsChanged && changes == ts.toolChanges {
		ts.tools = result.Value
	}
	return result.Value, nil
}

func (ts *Toolset) declaresListChanged() bool {
	initialize := ts.info.Initialize
	return initialize != nil && initialize.Capabilities != nil &&
		initialize.Capabilities.Tools != nil && initialize.Capabilities.Tools.ListChanged
}

// CallTool calls a tool and waits for its result. The arguments are anything that
// encodes to a JSON object, a json.RawMessage among them, whose digits are kept;
// nil is an empty object.
//
// The tool runs at most once. A result with IsError set is returned as a result.
// Errors are those of package failure: MCPProtocolError when the server refuses
// the call, CallFailure when CallTimeout passes, ResultTooLarge,
// DedicatedWorkerFailure and SessionClosed; a CanceledError when ctx is cancelled.
func (ts *Toolset) CallTool(ctx workflow.Context, tool string, arguments any) (*mcp.CallToolResult, error) {
	c, err := ts.scheduleCall(ctx, tool, arguments)
	if err != nil {
		return nil, err
	}
	return ts.awaitCall(ctx, c)
}

// CallToolAsync calls a tool and returns a future for its result, of type
// *mcp.CallToolResult, and its error, which are those of [Toolset.CallTool]. The
// future is one of workflow.NewFuture: selectors take it. The call is scheduled
// before CallToolAsync returns; concurrent calls run at the same time if the
// server can and session.Server.MaxConcurrentCalls allows.
func (ts *Toolset) CallToolAsync(ctx workflow.Context, tool string, arguments any) workflow.Future {
	future, settable := workflow.NewFuture(ctx)
	c, err := ts.scheduleCall(ctx, tool, arguments)
	if err != nil {
		settable.SetError(err)
		return future
	}
	workflow.GoNamed(ctx, "mcpsession: await "+clip(tool), func(ctx workflow.Context) {
		result, err := ts.awaitCall(ctx, c)
		settable.Set(result, err)
	})
	return future
}

func (ts *Toolset) scheduleCall(ctx workflow.Context, tool string, arguments any) (*call, error) {
	if err := ts.usable(ctx, tool); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if tool == "" {
		return nil, fmt.Errorf("toolset: server %q: the tool's name is empty", ts.settings.Server)
	}
	if len(tool) > maxToolName {
		return nil, fmt.Errorf("toolset: server %q: the tool's name %.40q… has %d bytes; at most %d are allowed",
			ts.settings.Server, tool, len(tool), maxToolName)
	}
	raw, err := encodeArguments(arguments, ts.settings.MaxArguments)
	if err != nil {
		return nil, fmt.Errorf("toolset: tool %q of server %q: %w", clip(tool), ts.settings.Server, err)
	}
	options, timeout, err := ts.settings.operation(queue.OperationCallTool, tool)
	if err != nil {
		return nil, err
	}
	c := ts.schedule(ctx, queue.OperationCallTool, queue.CallTool{
		Operation: ts.operation(timeout), Tool: tool, Arguments: raw,
	}, options)
	c.tool = tool
	return c, nil
}

func (ts *Toolset) awaitCall(ctx workflow.Context, c *call) (*mcp.CallToolResult, error) {
	var result queue.Result[mcp.CallToolResult]
	if err := ts.await(ctx, c, &result); err != nil {
		return nil, err
	}
	if result.ToolsChanged {
		ts.tools = nil
		ts.toolChanges++
	}
	return result.Value, nil
}

// operation returns what an operation with this timeout carries.
func (ts *Toolset) operation(timeout time.Duration) queue.Operation {
	op := ts.block
	op.Timeout = timeout
	return op
}

// encodeArguments returns the arguments as the JSON object that MCP wants.
func encodeArguments(arguments any, most int) (json.RawMessage, error) {
	if arguments == nil {
		return nil, nil
	}
	raw, err := json.Marshal(arguments) //workflowcheck:ignore
	if err != nil {
		return nil, fmt.Errorf("encode the arguments (%T) as JSON: %w", arguments, err)
	}
	switch {
	case bytes.Equal(raw, []byte("null")):
		return nil, nil
	case raw[0] != '{':
		return nil, fmt.Errorf("the arguments (%T) encode to %s, not to a JSON object; pass a map or a struct",
			arguments, strings.ToValidUTF8(string(raw[:min(len(raw), 40)]), "\uFFFD"))
	case len(raw) > most:
		return nil, fmt.Errorf("the arguments have %d bytes of JSON; at most %d are allowed: "+
			"pass a reference to the data instead, or raise Options.MaxArguments if the namespace's payload limit is higher", len(raw), most)
	}
	return raw, nil
}
