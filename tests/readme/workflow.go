package main

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// Headline reads a page in a browser of its own.
func Headline(ctx workflow.Context, url string) (text string, err error) {
	err = toolset.With(ctx, toolset.Options{Server: "browser"},
		func(ctx workflow.Context, browser *toolset.Toolset) error {
			if _, err := browser.CallTool(ctx, "browser_navigate", map[string]any{"url": url}); err != nil {
				return err
			}
			page, err := browser.CallTool(ctx, "browser_snapshot", nil) // the same browser, the same page
			if err != nil {
				return err
			}
			for _, content := range page.Content {
				if c, ok := content.(*mcp.TextContent); ok {
					text += c.Text
				}
			}
			return nil
		})
	if failure.IsDedicatedWorker(err) {
		// The browser is gone, and its state with it. Open a new block, or stop.
		workflow.GetLogger(ctx).Warn("the session was lost", "error", err)
	}
	return text, err
}
