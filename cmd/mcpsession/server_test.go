package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// holdVariable names a file that the tool hold writes to: a line when it begins, and
// one when it ends.
const holdVariable = "HOLD_FILE"

// newServer returns an MCP server with one tool for each thing that can become of a
// call.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fixture", Version: "1"}, nil)
	add := func(name, description string, call func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return call(ctx, request.Params.Arguments)
			})
	}
	said := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	add("echo", "Says its arguments.\nAs they came.", func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		return said(string(arguments)), nil
	})
	add("environment", "Says its own environment and arguments.", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return said(strings.Join(append(os.Environ(), os.Args...), "\n")), nil
	})
	add("fail", "Fails.", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		result := said("there is no tea")
		result.IsError = true
		return result, nil
	})
	add("refuse", "Refuses.", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32602, Message: "no such leaf"}
	})
	add("mixed", "Gives every kind of block.", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "a picture:"},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("12345")},
			&mcp.ResourceLink{URI: "file:///a", Name: "a"},
		}}, nil
	})
	add("structured", "Gives no text.", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"tea": "<green>"}}, nil
	})
	add("exit", "Ends the server.", func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	add("hold", "Holds until it is let go or cancelled.", hold)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Description: "A greeting."}, nil)
	s.AddResource(&mcp.Resource{URI: "file:///notes", Name: "notes"}, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "file:///{name}", Name: "files"}, nil)
	return s
}

func serve() { _ = newServer().Run(context.Background(), &mcp.StdioTransport{}) }
