package main

import (
	"context"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

// On the worker:
func registerScripts() error {
	return session.RegisterScript("headlines", func(ctx context.Context, mcp *session.Conn, urls []string) (pages []string, err error) {
		for _, url := range urls {
			if _, err := mcp.CallTool(ctx, "browser_navigate", map[string]any{"url": url}); err != nil {
				return nil, err
			}
			page, err := session.Call[string](ctx, mcp, "browser_snapshot", nil)
			if err != nil {
				return nil, err
			}
			pages = append(pages, page)
		}
		return pages, nil
	})
}

// In a workflow; inside of a block it is browser.Run(ctx, "headlines", urls, &pages).
func Headlines(ctx workflow.Context, urls []string) ([]string, error) {
	return toolset.RunScript[[]string](ctx, toolset.ScriptOptions{Server: "browser"}, "headlines", urls)
}

var _ = registerScripts
