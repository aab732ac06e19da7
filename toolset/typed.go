package toolset

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
)

// An ArgumentEncoder makes a tool's arguments itself, where a type's JSON is not
// what the tool wants. What it returns is encoded in the type's place.
type ArgumentEncoder = calls.ArgumentEncoder

// A ResultDecoder reads a tool's result itself. Implement it on the pointer.
type ResultDecoder = calls.ResultDecoder

// Call calls a tool with in as its arguments, and returns its result as an Out.
//
// In is anything that encodes to a JSON object, or an [ArgumentEncoder]. Out is
// decoded from the result's structured content, else from the JSON of its text; an
// Out that is a string is the text itself, one that is *mcp.CallToolResult the whole
// result, and a [ResultDecoder] decodes itself. The MCP SDK rounds integers over
// 2^53 in structured content.
//
// A result with IsError is an error that wraps a failure.Tool, of type ToolError.
// A result that is no Out is an error, too: the tool ran. Other errors are those of
// [Toolset.CallTool].
func Call[Out any](ctx workflow.Context, caller Caller, tool string, in any) (Out, error) {
	return calls.Typed[Out]("toolset", serverOf(caller), tool, in, func(arguments any) (*mcp.CallToolResult, error) {
		return caller.CallTool(ctx, tool, arguments)
	})
}

// serverOf returns the name of the server that a caller calls, where it tells.
func serverOf(caller Caller) string {
	if named, ok := caller.(interface{ Server() string }); ok {
		return named.Server()
	}
	return ""
}

// Server returns the name of the block's server.
func (ts *Toolset) Server() string { return ts.settings.Server }
