package stateless_test

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/stateless"
)

// A workflow that searches at two servers at once, and sends a mail. The search may
// be made again when its answer is lost; the mail is sent once, and if nobody knows
// whether it was, the workflow says so.
func ExampleNew() {
	_ = func(ctx workflow.Context, text string) error {
		search, err := stateless.New(ctx, stateless.Options{
			Server:      "search",
			CallTimeout: 20 * time.Second,
			Tools: map[string]workflow.ActivityOptions{
				"find": {RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3}},
			},
		})
		if err != nil {
			return err
		}
		books := search.CallToolAsync(ctx, "find", map[string]any{"in": "books", "text": text})
		papers := search.CallToolAsync(ctx, "find", map[string]any{"in": "papers", "text": text})
		for _, found := range []workflow.Future{books, papers} {
			var result *mcp.CallToolResult
			if err := found.Get(ctx, &result); err != nil {
				return err
			}
		}

		mail, err := stateless.New(ctx, stateless.Options{Server: "mail"})
		if err != nil {
			return err
		}
		_, err = mail.CallTool(ctx, "send", map[string]any{"text": text})
		if failure.RanOf(err) == failure.RanUnknown {
			workflow.GetLogger(ctx).Warn("the mail was sent, or not", "error", err)
		}
		return err
	}
}

// A tenant's name chooses the server's configuration on the worker, where its
// credentials are. Its calls have connections of their own.
func ExampleOptions_argument() {
	_ = func(ctx workflow.Context, tenant string) (*mcp.ListToolsResult, error) {
		client, err := stateless.New(ctx, stateless.Options{Server: "crm", Argument: tenant})
		if err != nil {
			return nil, err
		}
		return client.ListTools(ctx)
	}
}

// One call on a connection of its own, with types: the server's process, or its session
// over HTTP, lives as long as the call.
func ExampleCallOnce() {
	type query struct {
		SQL string `json:"sql"`
	}
	type count struct{ Rows int }
	_ = func(ctx workflow.Context) (int, error) {
		counted, err := stateless.CallOnce[count](ctx, stateless.Options{
			Server:         "database",
			ConnectTimeout: 2 * time.Minute, // a cold start
			CallTimeout:    90 * time.Second,
		}, "query", query{"SELECT count(*) AS rows FROM orders"})
		return counted.Rows, err
	}
}
