package toolset

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resultKey returns what the result of a call is kept under; empty if it is not to
// be kept. Results live in the block, never in the process: a history replays the
// same wherever it is replayed.
func (ts *Toolset) resultKey(tool string, arguments json.RawMessage) string {
	if !slices.Contains(ts.settings.CacheResults, tool) {
		return ""
	}
	return tool + "\x00" + string(arguments)
}

func (ts *Toolset) keepResult(key string, result *mcp.CallToolResult) {
	if key == "" || result == nil || result.IsError {
		return
	}
	if ts.results == nil {
		ts.results = make(map[string]*mcp.CallToolResult)
	}
	ts.results[key] = result
}
