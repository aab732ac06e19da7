package calls

import (
	"math"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Safe reports whether the server says that running a tool twice does what running
// it once does.
func Safe(tool *mcp.Tool) bool {
	return tool != nil && tool.Annotations != nil && (tool.Annotations.ReadOnlyHint || tool.Annotations.IdempotentHint)
}

// Sends returns how often a request may be sent under a policy of so many attempts;
// zero attempts are any number.
func Sends(attempts int32) int {
	if attempts == 0 {
		return math.MaxInt32
	}
	return int(attempts)
}
