package browser

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

func navigate(ctx workflow.Context, browser *toolset.Toolset, url string) error {
	_, err := call(ctx, browser, "browser_navigate", map[string]any{"url": url})
	return err
}

// fill types into an element of the page.
func fill(ctx workflow.Context, browser *toolset.Toolset, role, name, text string) error {
	found, err := find(ctx, browser, role, name)
	if err != nil {
		return err
	}
	_, err = call(ctx, browser, "browser_type", map[string]any{"element": name, "target": found.ref, "text": text})
	return err
}

// click clicks on an element of the page, and returns when what comes of it is there.
func click(ctx workflow.Context, browser *toolset.Toolset, role, name string) error {
	found, err := find(ctx, browser, role, name)
	if err != nil {
		return err
	}
	_, err = call(ctx, browser, "browser_click", map[string]any{"element": name, "target": found.ref})
	return err
}

// read returns the text of an element of the page.
func read(ctx workflow.Context, browser *toolset.Toolset, role string) (string, error) {
	found, err := find(ctx, browser, role, "")
	return found.text, err
}

// find looks for an element in a snapshot of the page as it is now. References are
// good for one snapshot: the next page gives the same ones to other elements.
func find(ctx workflow.Context, browser *toolset.Toolset, role, name string) (element, error) {
	snapshot, err := call(ctx, browser, "browser_snapshot", nil)
	if err != nil {
		return element{}, err
	}
	return findElement(textOf(snapshot), role, name)
}

// call calls a tool. A tool that failed gives a result, too, as everywhere in MCP:
// an agent would read it and think again. Here it is an error.
func call(ctx workflow.Context, browser *toolset.Toolset, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	result, err := browser.CallTool(ctx, tool, args)
	if err != nil {
		return nil, err
	}
	if result.IsError {
		return nil, fmt.Errorf("tool %s: %s", tool, textOf(result))
	}
	return result, nil
}

func textOf(result *mcp.CallToolResult) (text string) {
	for _, content := range result.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text
}
