package stateless

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/toolset"
)

// Names that the workflow and the worker agree on.
const (
	TaskQueue = "prices"
	Server    = "rates" // the MCP server
)

// A Price is an amount of a currency.
type Price struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Total returns the sum of prices in one currency.
func Total(ctx workflow.Context, prices []Price, currency string) (total Price, err error) {
	rates, err := stateless.New(ctx, stateless.Options{Server: Server})
	if err != nil {
		return total, err
	}
	// Once the tools are listed it is known which of them may be called again.
	if _, err := rates.ListTools(ctx); err != nil {
		return total, err
	}
	converted := make([]Price, len(prices))
	failed := make([]error, len(prices))
	all := workflow.NewWaitGroup(ctx)
	for i, price := range prices {
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			converted[i], failed[i] = toolset.Call[Price](ctx, rates, "convert", map[string]any{"price": price, "to": currency})
		})
	}
	all.Wait(ctx)
	total.Currency = currency
	for i, price := range converted {
		if failed[i] != nil {
			return total, failed[i]
		}
		total.Amount += price.Amount
	}
	return total, nil
}
