package session

import (
	"fmt"
	"slices"
)

// maxPages bounds a list against a server that pages for ever.
const maxPages = 1000

// listAll returns all pages of a list as one, without a cursor. The parts of a page
// are its items and the cursor of the next.
func listAll[Page, Item any](what string, fetch func(cursor string) (*Page, error),
	parts func(*Page) (items *[]Item, next *string)) (*Page, error) {
	var all *Page
	cursor, seen := "", make(map[string]bool)
	for range maxPages {
		page, err := fetch(cursor)
		if err != nil {
			return nil, err
		}
		items, next := parts(page)
		cursor = *next
		if all == nil {
			// A copy, since the MCP SDK may keep the page in its cache.
			first := *page
			all = &first
			listed, last := parts(all)
			*listed, *last = slices.Clone(*items), ""
		} else {
			listed, _ := parts(all)
			*listed = append(*listed, *items...)
		}
		if cursor == "" {
			return all, nil
		}
		if seen[cursor] {
			return nil, fmt.Errorf("the server repeats the cursor of a page of its %s list", what)
		}
		seen[cursor] = true
	}
	return nil, fmt.Errorf("the server's %s list has more than %d pages", what, maxPages)
}
