package toolset

import (
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
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
	return ts.readTools(ctx)
}

// readTools reads the tool list from the server.
func (ts *Toolset) readTools(ctx workflow.Context) (*mcp.ListToolsResult, error) {
	changes := ts.toolChanges
	options, timeout, err := ts.activity(queue.OperationListTools, "")
	if err != nil {
		return nil, err
	}
	c := ts.schedule(ctx, queue.OperationListTools, queue.ListTools{Operation: ts.operation(timeout)}, options)
	var result queue.Result[mcp.ListToolsResult]
	if err := ts.await(ctx, c, &result); err != nil {
		return nil, err
	}
	listed, err := calls.Value(ts.settings.Server, "", result)
	if err != nil {
		return nil, err
	}
	// A list that the server has said to be old while it was on its way is not kept.
	if !result.ToolsChanged && changes == ts.toolChanges {
		ts.listed = listed
		if ts.settings.CacheTools || !ts.declaresListChanged() {
			ts.tools = listed
		}
	}
	return listed, nil
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
	if c.kept != nil {
		return c.kept, nil
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
	if c.kept != nil {
		settable.SetValue(c.kept)
		return future
	}
	workflow.GoNamed(ctx, "mcpsession: await "+calls.Clip(tool), func(ctx workflow.Context) {
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
	if err := calls.CheckTool(tool); err != nil {
		return nil, fmt.Errorf("toolset: server %q: %w", ts.settings.Server, err)
	}
	raw, err := calls.EncodeArguments(arguments, ts.settings.MaxArguments)
	if err != nil {
		return nil, fmt.Errorf("toolset: tool %q of server %q: %w", calls.Clip(tool), ts.settings.Server, err)
	}
	if err := ts.validate(tool, raw); err != nil {
		return nil, err
	}
	key := ts.resultKey(tool, raw)
	if kept := ts.results[key]; kept != nil {
		return &call{kept: kept}, nil
	}
	options, timeout, err := ts.activity(queue.OperationCallTool, tool)
	if err != nil {
		return nil, err
	}
	op := ts.operation(timeout)
	op.MaxResult, op.MaxSends = ts.settings.MaxResult, ts.sends(tool)
	c := ts.schedule(ctx, queue.OperationCallTool, queue.CallTool{Operation: op, Tool: tool, Arguments: raw}, options)
	c.tool, c.key = tool, key
	return c, nil
}

func (ts *Toolset) awaitCall(ctx workflow.Context, c *call) (*mcp.CallToolResult, error) {
	var result queue.Result[mcp.CallToolResult]
	if err := ts.await(ctx, c, &result); err != nil {
		return nil, err
	}
	ts.noteTools(result.ToolsChanged)
	value, err := calls.Value(ts.settings.Server, c.tool, result)
	if err != nil {
		return nil, err
	}
	ts.keepResult(c.key, value)
	return value, nil
}

// activity returns the activity options of an operation and the bound of its
// request.
func (ts *Toolset) activity(operation queue.OperationName, tool string) (workflow.ActivityOptions, time.Duration, error) {
	options, timeout, err := calls.Activity(ts.settings.Server, operation, tool, operationDefaults(), ts.settings.common(), ts.over)
	if err != nil {
		return options, 0, fmt.Errorf("toolset: server %q: %w", ts.settings.Server, err)
	}
	return options, timeout, nil
}

// operation returns what an operation with this timeout carries.
func (ts *Toolset) operation(timeout time.Duration) queue.Operation {
	op := ts.block
	op.Timeout = timeout
	return op
}
