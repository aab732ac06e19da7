package main

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// Headline reads a page in a browser of its own.
func Headline(ctx workflow.Context, url string) (text string, err error) {
	err = toolset.With(ctx, toolset.Options{Server: "browser"},
		func(ctx workflow.Context, browser *toolset.Toolset) error {
			opened, err := browser.CallTool(ctx, "browser_navigate", map[string]any{"url": url})
			if err != nil {
				return err
			}
			if opened.IsError { // what the tool itself says of a failure is a result
				return errors.New("the page can't be opened")
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
