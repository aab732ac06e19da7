package calls

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Safe reports whether the server says that running a tool twice does what running
// it once does.
func Safe(tool *mcp.Tool) bool {
	return tool != nil && tool.Annotations != nil && (tool.Annotations.ReadOnlyHint || tool.Annotations.IdempotentHint)
}
