package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

type spot struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// A swapped spot encodes and decodes itself: its JSON is not what the tool wants.
type swapped struct{ A, B int }

func (s swapped) EncodeToolArguments() (any, error) {
	if s.A < 0 {
		return nil, errors.New("A is negative")
	}
	return map[string]any{"which": fmt.Sprint("point-", s.A)}, nil
}

func (s *swapped) DecodeToolResult(result *mcp.CallToolResult) error {
	var p spot
	if err := json.Unmarshal([]byte(failure.Text(result)), &p); err != nil {
		return err
	}
	s.A, s.B = p.Y, p.X
	return nil
}

// A named result is what the tool's arguments ask for.
type named struct {
	Which string `json:"which"`
}

var typedResults = map[string]*mcp.CallToolResult{
	"point-1":    texts(`{"x":1,"y":2}`),
	"structured": {Content: []mcp.Content{&mcp.TextContent{Text: "other words"}}, StructuredContent: spot{3, 4}},
	"list":       {Content: []mcp.Content{}, StructuredContent: []spot{{5, 6}}},
	"words":      texts("no JSON"),
	"empty":      {Content: []mcp.Content{}},
	"error": {Content: []mcp.Content{&mcp.TextContent{Text: "no such"}, &mcp.TextContent{Text: "point"}},
		StructuredContent: map[string]any{"code": 7}, IsError: true},
	"bare error": {Content: []mcp.Content{}, IsError: true},
	"Error: ok":  texts("Error: this is a success"),
}

// A typed call takes arguments from a struct or from what encodes itself, and
// returns structured content, else the JSON of the text, else the text or the whole
// result. A result with IsError is a *failure.Tool; one that is no Out is told, with
// the tool having run. (C18)
func TestTypedCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type seen struct {
		Text, Structured spot
		List             []spot
		Words            string
		Own              swapped
		Whole            *mcp.CallToolResult
		Success          string
		Tool             *failure.Tool
		Blocks           int
		Structure        any
		Bare             string
		BareText         string
		NotJSON, Nothing string
		NotEncoded       string
	}
	b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		return got, toolset.With(ctx, toolset.Options{Server: "typed"}, func(ctx workflow.Context, ts *toolset.Toolset) (err error) {
			if got.Text, err = toolset.Call[spot](ctx, ts, "tool", named{"point-1"}); err != nil {
				return err
			}
			if got.Structured, err = toolset.Call[spot](ctx, ts, "tool", &named{"structured"}); err != nil {
				return err
			}
			if got.List, err = toolset.Call[[]spot](ctx, ts, "tool", map[string]string{"which": "list"}); err != nil {
				return err
			}
			if got.Words, err = toolset.Call[string](ctx, ts, "tool", named{"words"}); err != nil {
				return err
			}
			if got.Own, err = toolset.Call[swapped](ctx, ts, "tool", swapped{A: 1}); err != nil {
				return err
			}
			if got.Whole, err = toolset.Call[*mcp.CallToolResult](ctx, ts, "tool", named{"structured"}); err != nil {
				return err
			}
			if got.Success, err = toolset.Call[string](ctx, ts, "tool", named{"Error: ok"}); err != nil {
				return err
			}
			_, err = toolset.Call[spot](ctx, ts, "tool", named{"error"})
			if !errors.As(err, &got.Tool) || !failure.IsTool(err) || failure.RanOf(err) != failure.RanYes {
				return fmt.Errorf("an error of the tool is %w", err)
			}
			got.Blocks, got.Structure = len(got.Tool.Content), got.Tool.Structured
			_, err = toolset.Call[spot](ctx, ts, "tool", named{"bare error"})
			var bare *failure.Tool
			if !errors.As(err, &bare) {
				return fmt.Errorf("an error without content is %w", err)
			}
			got.Bare, got.BareText = bare.Text, bare.Error()
			_, notJSON := toolset.Call[spot](ctx, ts, "tool", named{"words"})
			_, nothing := toolset.Call[spot](ctx, ts, "tool", named{"empty"})
			_, notEncoded := toolset.Call[spot](ctx, ts, "tool", swapped{A: -1})
			got.NotJSON, got.Nothing, got.NotEncoded = fmt.Sprint(notJSON), fmt.Sprint(nothing), fmt.Sprint(notEncoded)
			return nil
		})
	}, inMemory("typed", func() *mcp.Server { return serverOf("tool", answerFrom(typedResults)) }))
	var got seen
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%v %v %v %s %v %s", got.Text, got.Structured, got.List, got.Words, got.Own, got.Success) != "{1 2} {3 4} [{5 6}] no JSON {2 1} Error: this is a success" {
		t.Errorf("got %v %v %v %q %v %q", got.Text, got.Structured, got.List, got.Words, got.Own, got.Success)
	}
	if got.Whole == nil || got.Whole.StructuredContent == nil {
		t.Errorf("the whole result is %+v", got.Whole)
	}
	if f := got.Tool; f.Tool != "tool" || f.Server != "typed" || f.Text != "no such\npoint" || got.Blocks != 2 || fmt.Sprint(got.Structure) != "map[code:7]" {
		t.Errorf("the tool's failure is %+v, %d blocks, %v", f, got.Blocks, got.Structure)
	}
	if got.Bare != "" || !strings.Contains(got.BareText, "gave no reason") {
		t.Errorf("an error without content is %q, %q", got.Bare, got.BareText)
	}
	mentions(t, got.NotJSON, `"tool" ran`, "spot", "no JSON")
	mentions(t, got.Nothing, `"tool" ran`, "neither")
	mentions(t, got.NotEncoded, "A is negative")
}

// A tool's failure that ends a workflow is of type ToolError, and says from afar
// which tool failed and why.
func TestToolErrorLeavesTheWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) error {
		return toolset.With(ctx, toolset.Options{Server: "typed"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			_, err := toolset.Call[spot](ctx, ts, "tool", named{"error"})
			return err
		})
	}, inMemory("typed", func() *mcp.Server { return serverOf("tool", answerFrom(typedResults)) }))
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{TaskQueue: b.taskQueue, ID: b.taskQueue}, "test")
	if err != nil {
		t.Fatal(err)
	}
	err = run.Get(b.ctx, nil)
	f, ok := failure.ToolOf(err)
	if !ok || !failure.IsTool(err) || f.Tool != "tool" || f.Server != "typed" || f.Text != "no such\npoint" {
		t.Errorf("the workflow failed with %v: %+v", err, f)
	}
}
