package briefing

import (
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// Names that the workflow and the worker agree on.
const (
	Library = "library" // notes as resources, and a prompt
	Rates   = "rates"   // a tool that converts money
)

// The arguments and the result of the tool convert.
type (
	Amount struct {
		Value float64 `json:"value"`
		From  string  `json:"from"`
		To    string  `json:"to"`
	}
	Converted struct {
		Value float64 `json:"value"`
	}
)

// A Briefing is what is known of a topic.
type Briefing struct {
	Topic   string   // completed
	Notes   []string // the texts of its resource
	Prompt  string   // what to ask a model about it
	Price   float64  // in euros
	Unknown string   // what the server says of a currency that is none
}

// Brief collects a briefing on the topic that begins like this. Both sessions are
// open at the same time, and both end with the block, whatever comes of it.
func Brief(ctx workflow.Context, topic string, dollars float64) (b Briefing, err error) {
	options := []toolset.Options{{Server: Library}, {Server: Rates}}
	err = toolset.WithAll(ctx, options, func(ctx workflow.Context, all []*toolset.Toolset) error {
		library, rates := all[0], all[1]
		if b.Topic, err = complete(ctx, library, topic); err != nil {
			return err
		}
		note, err := library.ReadResource(ctx, "note:///"+b.Topic)
		if err != nil {
			return err
		}
		for _, content := range note.Contents {
			b.Notes = append(b.Notes, content.Text)
		}
		prompt, err := library.GetPrompt(ctx, "summary", map[string]string{"topic": b.Topic})
		if err != nil {
			return err
		}
		for _, message := range prompt.Messages {
			if text, ok := message.Content.(*mcp.TextContent); ok {
				b.Prompt += text.Text
			}
		}
		converted, err := toolset.Call[Converted](ctx, rates, "convert", Amount{dollars, "USD", "EUR"})
		if err != nil {
			return err
		}
		b.Price = converted.Value

		// What a tool says of a failure is an error of a typed call.
		_, err = toolset.Call[Converted](ctx, rates, "convert", Amount{dollars, "USD", "XXX"})
		var refused *failure.Tool
		if !errors.As(err, &refused) {
			return fmt.Errorf("a currency that is none was converted: %w", err)
		}
		b.Unknown = refused.Text
		return nil
	})
	return b, err
}

// complete returns the one topic that begins like this.
func complete(ctx workflow.Context, library *toolset.Toolset, prefix string) (string, error) {
	completed, err := library.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "summary"},
		Argument: mcp.CompleteParamsArgument{Name: "topic", Value: prefix},
	})
	if err != nil {
		return "", err
	}
	if values := completed.Completion.Values; len(values) == 1 {
		return values[0], nil
	}
	return "", fmt.Errorf("%q is the beginning of %d topics: %q", prefix, len(completed.Completion.Values), completed.Completion.Values)
}
