package toolset

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/internal/calls"
)

// maxSends is how often a request that may be repeated is sent for one call.
const maxSends = 3

// sends returns how often a tool's call may be sent to the server; zero is once.
func (ts *Toolset) sends(tool string) int {
	repeatable, said := ts.settings.Repeatable[tool]
	if !said {
		repeatable = calls.Safe(ts.definition(tool)) // known of tools that the block has listed
	}
	if repeatable {
		return maxSends
	}
	return 0
}

// definition returns what the server says of a tool that the block has listed; nil
// of others.
func (ts *Toolset) definition(tool string) *mcp.Tool {
	if ts.listed == nil {
		return nil
	}
	for _, t := range ts.listed.Tools {
		if t.Name == tool {
			return t
		}
	}
	return nil
}
