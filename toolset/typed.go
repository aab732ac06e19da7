package toolset

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
)

// An ArgumentEncoder makes a tool's arguments itself, where a type's JSON is not
// what the tool wants. What it returns is encoded in the type's place.
type ArgumentEncoder interface {
	EncodeToolArguments() (any, error)
}

// A ResultDecoder reads a tool's result itself. Implement it on the pointer.
type ResultDecoder interface {
	DecodeToolResult(result *mcp.CallToolResult) error
}

// Call calls a tool with in as its arguments, and returns its result as an Out.
//
// In is anything that encodes to a JSON object, or an [ArgumentEncoder]. Out is
// decoded from the result's structured content, else from the JSON of its text; an
// Out that is a string is the text itself, one that is *mcp.CallToolResult the whole
// result, and a [ResultDecoder] decodes itself. The MCP SDK rounds integers over
// 2^53 in structured content.
//
// A result with IsError is an error that wraps a *[failure.Tool], of type ToolError.
// A result that is no Out is an error, too: the tool ran. Other errors are those of
// [Toolset.CallTool].
func Call[Out any](ctx workflow.Context, caller Caller, tool string, in any) (Out, error) {
	var out Out
	if encoder, ok := in.(ArgumentEncoder); ok {
		encoded, err := encoder.EncodeToolArguments()
		if err != nil {
			return out, fmt.Errorf("toolset: tool %q: encode the arguments (%T): %w", tool, in, err)
		}
		in = encoded
	}
	result, err := caller.CallTool(ctx, tool, in)
	if err != nil {
		return out, err
	}
	if whole, ok := any(&out).(**mcp.CallToolResult); ok && !result.IsError {
		*whole = result
		return out, nil
	}
	if result.IsError {
		return out, failure.NewTool(serverOf(caller), tool, result)
	}
	if err := decode(result, &out); err != nil {
		return out, fmt.Errorf("toolset: tool %q ran, and its result is no %T: %w", tool, out, err)
	}
	return out, nil
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

func decode[Out any](result *mcp.CallToolResult, out *Out) error {
	if decoder, ok := any(out).(ResultDecoder); ok {
		return decoder.DecodeToolResult(result)
	}
	text := failure.Text(result)
	if s, ok := any(out).(*string); ok {
		*s = text
		return nil
	}
	if result.StructuredContent != nil {
		raw, err := json.Marshal(result.StructuredContent) //workflowcheck:ignore
		if err != nil {
			return err
		}
		err = json.Unmarshal(raw, out) //workflowcheck:ignore
		return err
	}
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("it has neither structured content nor text")
	}
	err := json.Unmarshal([]byte(text), out) //workflowcheck:ignore
	if err != nil {
		return fmt.Errorf("its text is no JSON for it: %w: %s", err, failure.Clip(text, 200))
	}
	return nil
}
