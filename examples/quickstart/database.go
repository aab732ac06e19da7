package quickstart

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

// execute runs a statement in the session's database.
func execute(ctx workflow.Context, db *toolset.Toolset, sql string, args ...any) error {
	_, err := call(ctx, db, "execute", sql, args)
	return err
}

// queryRow asks the session's database for one row.
func queryRow[Row any](ctx workflow.Context, db *toolset.Toolset, sql string, args ...any) (Row, error) {
	var none Row
	text, err := call(ctx, db, "query", sql, args)
	if err != nil {
		return none, err
	}
	var out struct{ Rows []Row }
	err = json.Unmarshal([]byte(text), &out) //workflowcheck:ignore
	if err != nil {
		return none, fmt.Errorf("the rows of %s: %w", sql, err)
	}
	if len(out.Rows) == 0 {
		return none, fmt.Errorf("no rows: %s", sql)
	}
	return out.Rows[0], nil
}

// call calls a tool of the MCP server and returns the text of its result. A tool
// that failed gives a result, too, as everywhere in MCP: an agent would read it
// and think again. Here it is an error.
func call(ctx workflow.Context, db *toolset.Toolset, tool, sql string, args []any) (string, error) {
	result, err := db.CallTool(ctx, tool, map[string]any{"sql": sql, "args": args})
	if err != nil {
		return "", err
	}
	var text string
	for _, content := range result.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	if result.IsError {
		return "", fmt.Errorf("tool %s: %s", tool, text)
	}
	return text, nil
}
