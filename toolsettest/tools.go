package toolsettest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// A Tool is what a tool of a [Server] does. The arguments are the JSON object that the
// workflow passed. A result that is an *mcp.CallToolResult is returned as it is, a
// string as its text, nil as an empty result, and everything else as structured
// content, with its JSON as the text. An error is a result with IsError set. Calls that
// are pending at once run at once.
type Tool func(ctx context.Context, arguments json.RawMessage) (any, error)

// newServer returns the MCP server of a session.
func (s *Server) newServer(argument transport.Argument) *mcp.Server {
	if s.MCP != nil {
		return s.MCP(argument)
	}
	m := mcp.NewServer(&mcp.Implementation{Name: s.Name, Version: "0"}, nil)
	for name, tool := range s.Tools {
		m.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return tool.call(ctx, request.Params.Arguments), nil
			})
	}
	return m
}

// call runs the tool. One that panics has failed, and not the test's process.
func (tool Tool) call(ctx context.Context, arguments json.RawMessage) (result *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			result = failedResult(fmt.Sprintf("the tool panicked: %v", p))
		}
	}()
	value, err := tool(ctx, arguments)
	if err != nil {
		return failedResult(err.Error())
	}
	switch v := value.(type) {
	case nil:
		return &mcp.CallToolResult{Content: []mcp.Content{}}
	case *mcp.CallToolResult:
		return v
	case string:
		return textResult(v)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return failedResult(fmt.Sprintf("encode the tool's result (%T): %v", value, err))
	}
	result = textResult(string(raw))
	result.StructuredContent = json.RawMessage(raw)
	return result
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func failedResult(text string) *mcp.CallToolResult {
	result := textResult(text)
	result.IsError = true
	return result
}
