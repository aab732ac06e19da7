package failure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
)

// A Tool is what a tool's own failure says: its result had IsError set. The tool
// ran. errors.As finds it in the error of a typed call; once such an error has left
// its workflow, [ToolOf] reads what came along.
type Tool struct {
	// Server and Tool name what was called.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool"`
	// Text is the text of the result, its blocks one to a line: the server's words,
	// unverified. On the wire it is bounded by [MaxPeerText].
	Text string `json:"text,omitempty"`
	// Content and Structured are the result's. They stay in the workflow.
	Content    []mcp.Content `json:"-"`
	Structured any           `json:"-"`
}

// Error gives the tool's name and its text.
func (e *Tool) Error() string {
	text := Clip(e.Text, MaxPeerText)
	if text == "" {
		text = "it gave no reason"
	}
	if e.Server == "" {
		return fmt.Sprintf("tool %q failed: %s", e.Tool, text)
	}
	return fmt.Sprintf("MCP server %q: tool %q failed: %s", e.Server, e.Tool, text)
}

// NewTool returns a result with IsError as an error of type [TypeTool], which wraps
// a *[Tool]. It is retryable: whether the workflow's next run may try again is the
// workflow's to say.
func NewTool(server, tool string, result *mcp.CallToolResult) error {
	e := &Tool{Server: server, Tool: tool, Text: Text(result), Content: result.Content, Structured: result.StructuredContent}
	wire := *e
	wire.Text = Clip(e.Text, MaxPeerText)
	return temporal.NewApplicationErrorWithOptions(e.Error(), TypeTool, temporal.ApplicationErrorOptions{
		Cause: e, Details: []any{&wire},
	})
}

// ToolOf returns what the outermost tool's failure in err says. Of an error that
// came from another run it has no content.
func ToolOf(err error) (*Tool, bool) {
	var e *Tool
	if errors.As(err, &e) {
		return e, true
	}
	applicationError := find(err, TypeTool)
	if applicationError == nil {
		return nil, false
	}
	// The details are a pointer as long as they have not crossed a wire.
	if e, ok := decode[*Tool](applicationError); ok && e != nil {
		return e, true
	}
	return &Tool{Text: applicationError.Message()}, true
}

// Text returns the text of a result's blocks, one to a line.
func Text(result *mcp.CallToolResult) string {
	var texts []string
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}
