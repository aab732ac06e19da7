package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPages bounds a list against a server that pages for ever.
const maxPages = 1000

// listAllTools returns the tools of all pages as one, without a cursor.
func listAllTools(ctx context.Context, client *mcp.ClientSession) (*mcp.ListToolsResult, error) {
	var all *mcp.ListToolsResult
	cursor, seen := "", make(map[string]bool)
	for range maxPages {
		page, err := client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		if all == nil {
			// A copy, since the MCP SDK may keep the page in its cache.
			first := *page
			all = &first
			all.Tools = slices.Clone(page.Tools)
		} else {
			all.Tools = append(all.Tools, page.Tools...)
		}
		if cursor = page.NextCursor; cursor == "" {
			all.NextCursor = ""
			return all, nil
		}
		if seen[cursor] {
			return nil, errors.New("the server repeats the cursor of a page of its tool list")
		}
		seen[cursor] = true
	}
	return nil, fmt.Errorf("the server's tool list has more than %d pages", maxPages)
}
