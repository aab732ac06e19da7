// Package cart is an MCP server with a shopping cart for each session.
package cart

import (
	"context"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var prices = map[string]int{"tea": 4, "milk": 2, "bread": 3}

type item struct {
	Item  string `json:"item" jsonschema:"tea, milk or bread"`
	Count int    `json:"count" jsonschema:"how many"`
}

// New returns the server of one session, whose cart is empty.
func New() *mcp.Server {
	var mu sync.Mutex
	things, total := 0, 0
	s := mcp.NewServer(&mcp.Implementation{Name: "cart", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Puts something into the cart."},
		func(_ context.Context, _ *mcp.CallToolRequest, in item) (*mcp.CallToolResult, any, error) {
			price, ok := prices[in.Item]
			if !ok {
				return nil, nil, fmt.Errorf("there is no %q", in.Item)
			}
			mu.Lock()
			defer mu.Unlock()
			things += in.Count
			total += in.Count * price
			return text("%d %s at %d", in.Count, in.Item, price), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "total", Description: "Says what the cart comes to.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			mu.Lock()
			defer mu.Unlock()
			return text("%d things for %d", things, total), nil, nil
		})
	return s
}

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}
