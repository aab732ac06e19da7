package calls

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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

// Typed calls a tool with in as its arguments, and returns its result as an Out: what
// the typed calls of all packages do. By says which package, for errors.
func Typed[Out any](by, server, tool string, in any, call func(arguments any) (*mcp.CallToolResult, error)) (Out, error) {
	var out Out
	if encoder, ok := in.(ArgumentEncoder); ok {
		encoded, err := encoder.EncodeToolArguments()
		if err != nil {
			return out, fmt.Errorf("%s: tool %q: encode the arguments (%T): %w", by, tool, in, err)
		}
		in = encoded
	}
	result, err := call(in)
	if err != nil {
		return out, err
	}
	if whole, ok := any(&out).(**mcp.CallToolResult); ok && !result.IsError {
		*whole = result
		return out, nil
	}
	if result.IsError {
		return out, failure.NewTool(server, tool, result)
	}
	if err := decode(result, &out); err != nil {
		return out, fmt.Errorf("%s: tool %q ran, and its result is no %T: %w", by, tool, out, err)
	}
	return out, nil
}

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
