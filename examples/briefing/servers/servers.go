// Package servers has the MCP servers of the example.
package servers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var notes = map[string]string{
	"tea":   "Tea grows in Assam.",
	"temps": "It is warm in Assam.",
	"milk":  "Milk comes from cows.",
}

// Library has a note for each topic, and a prompt that asks for a summary of one.
func Library() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			var values []string
			for _, topic := range slices.Sorted(maps.Keys(notes)) {
				if strings.HasPrefix(topic, r.Params.Argument.Value) {
					values = append(values, topic)
				}
			}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
		},
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "note", URITemplate: "note:///{topic}"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text, ok := notes[strings.TrimPrefix(r.Params.URI, "note:///")]
			if !ok {
				return nil, mcp.ResourceNotFoundError(r.Params.URI)
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: text}}}, nil
		})
	s.AddPrompt(&mcp.Prompt{Name: "summary", Arguments: []*mcp.PromptArgument{{Name: "topic", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{
				Role: "user", Content: &mcp.TextContent{Text: "Summarise what is known of " + r.Params.Arguments["topic"] + "."},
			}}}, nil
		})
	return s
}

type amount struct {
	Value float64 `json:"value"`
	From  string  `json:"from"`
	To    string  `json:"to"`
}

type converted struct {
	Value float64 `json:"value"`
}

var euros = map[string]float64{"EUR": 1, "USD": 0.5}

// Rates converts money.
func Rates() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "rates", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "convert"}, func(_ context.Context, _ *mcp.CallToolRequest, in amount) (*mcp.CallToolResult, converted, error) {
		from, to := euros[in.From], euros[in.To]
		if from == 0 || to == 0 {
			return nil, converted{}, fmt.Errorf("%s can't be converted to %s", in.From, in.To)
		}
		return nil, converted{in.Value * from / to}, nil
	})
	return s
}
