package interop

import (
	"encoding/json"
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

// A conversation has this many rounds of so many calls of tools: fifty together.
const rounds, callsPerRound = 10, 5

// A conversation is what a workflow says to one session of a server. Each call
// takes its arguments from earlier answers, and each answer must be the one that
// follows from all that was said before, so that an answer of another session, of
// an empty one, or one to a call that ran twice is found.
type conversation interface {
	// round makes the calls of one round.
	round(ctx workflow.Context, n int) error
	// remembers returns what the server has to tell of the state that the rounds
	// change. Without state it returns nothing.
	remembers(ctx workflow.Context) (string, error)
}

// A speaker makes the calls of a conversation.
type speaker struct {
	ts    *toolset.Toolset
	name  string // the block's, which is in what it says
	dir   string // the row's
	calls int
}

// call calls a tool, which must not fail.
func (s *speaker) call(ctx workflow.Context, tool string, arguments any) (*mcp.CallToolResult, error) {
	s.calls++
	result, err := s.ts.CallTool(ctx, tool, arguments)
	if err == nil && result.IsError {
		return nil, fmt.Errorf("tool %s failed: %s", tool, texts(result))
	}
	return result, err
}

// text returns the text that a tool answers with, and with nothing else.
func (s *speaker) text(ctx workflow.Context, tool string, arguments any) (string, error) {
	result, err := s.call(ctx, tool, arguments)
	if err != nil {
		return "", err
	}
	all := texts(result)
	if len(all) != 1 || len(result.Content) != 1 {
		return "", fmt.Errorf("tool %s answered with %d blocks, want one text", tool, len(result.Content))
	}
	return all[0], nil
}

// hears calls a tool that must answer with one text.
func (s *speaker) hears(ctx workflow.Context, want, tool string, arguments any) error {
	got, err := s.text(ctx, tool, arguments)
	if err != nil {
		return err
	}
	return same(want, got)
}

// structured decodes what a tool answers with as structured content.
func (s *speaker) structured(ctx workflow.Context, tool string, arguments, into any) error {
	result, err := s.call(ctx, tool, arguments)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// texts returns the text blocks of a result.
func texts(result *mcp.CallToolResult) (all []string) {
	for _, content := range result.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			all = append(all, c.Text)
		}
	}
	return all
}

// same returns an error unless the answer is the wanted one.
func same[T any](want, got T) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("another answer than what was said before asks for (-want +got):\n%s", diff)
	}
	return nil
}
