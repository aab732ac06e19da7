// Package rates is an MCP server that converts prices between currencies. It keeps
// nothing between two calls.
package rates

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What one unit of each currency is worth, in one of them.
var worth = map[string]float64{"EUR": 1, "USD": 0.5, "JPY": 0.25} // so that sums are exact

type price struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type convertInput struct {
	Price price  `json:"price" jsonschema:"the price to convert"`
	To    string `json:"to" jsonschema:"the currency to convert it to, such as EUR"`
}

// New returns a server.
func New() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "rates", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "convert",
		Description: "Converts a price to another currency.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, convert)
	return s
}

func convert(_ context.Context, _ *mcp.CallToolRequest, in convertInput) (*mcp.CallToolResult, price, error) {
	from, known := worth[in.Price.Currency]
	if !known {
		return nil, price{}, fmt.Errorf("no currency %q", in.Price.Currency) // a result with IsError
	}
	to, known := worth[in.To]
	if !known {
		return nil, price{}, fmt.Errorf("no currency %q", in.To)
	}
	return nil, price{Amount: in.Price.Amount * from / to, Currency: in.To}, nil
}

// Run serves a server on stdin and stdout until they close.
func Run(ctx context.Context) error { return New().Run(ctx, &mcp.StdioTransport{}) }
