package http

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

// Names that the workflow, the worker and the starter agree on.
const (
	TaskQueue  = "notes"
	Server     = "notebook" // the MCP server
	NoteSignal = "note"     // has a note; an empty one is the end
)

// KeepNotes opens a notebook, writes down each note that is signalled, and returns
// at the end what is written there. It names the server; where that is, and who may
// use it, is the worker's business.
func KeepNotes(ctx workflow.Context) (notes []string, err error) {
	err = toolset.With(ctx, toolset.Options{Server: Server}, func(ctx workflow.Context, notebook *toolset.Toolset) error {
		signals := workflow.GetSignalChannel(ctx, NoteSignal)
		for {
			if err := workflow.Await(ctx, func() bool { return signals.Len() > 0 }); err != nil {
				return err // cancelled
			}
			var note string
			signals.Receive(ctx, &note)
			if note == "" {
				break
			}
			if _, err := call(ctx, notebook, "add_note", map[string]any{"text": note}); err != nil {
				return err
			}
		}
		written, err := call(ctx, notebook, "list_notes", nil)
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(written), &notes) //workflowcheck:ignore
	})
	return notes, err
}

// call calls a tool and returns the text of its result. What the tool itself says of
// a failure is an error here.
func call(ctx workflow.Context, notebook *toolset.Toolset, tool string, args map[string]any) (text string, err error) {
	result, err := notebook.CallTool(ctx, tool, args)
	if err != nil {
		return "", err
	}
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
