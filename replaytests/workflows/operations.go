package workflows

import (
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/toolset"
)

// WithOptions sets what can be set.
func WithOptions(ctx workflow.Context) error {
	options := toolset.Options{
		Server:   Server,
		Argument: map[string]any{"tenant": "one"},
		Session: workflow.ActivityOptions{
			HeartbeatTimeout: 45 * time.Second, StartToCloseTimeout: time.Hour, ScheduleToStartTimeout: time.Minute,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: 2 * time.Second, MaximumAttempts: 5},
		},
		Operation: workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 7}},
		Tools: map[string]workflow.ActivityOptions{
			"incr": {StartToCloseTimeout: 3 * time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}},
		},
		CallTimeout:  20 * time.Second,
		ToolTimeouts: map[string]time.Duration{"incr": 2 * time.Minute},
		Repeatable:   map[string]bool{"get": true},
		MaxResult:    1 << 20,
	}
	return toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if _, err := ts.CallTool(ctx, "incr", nil); err != nil {
			return err
		}
		return get(ctx, ts)
	})
}

// Operations uses every operation of a block.
func Operations(ctx workflow.Context) error {
	return toolset.With(ctx, counter, func(ctx workflow.Context, ts *toolset.Toolset) error {
		for _, operation := range []func() error{
			func() error { _, err := ts.ListTools(ctx); return err },
			func() error { _, err := ts.CallTool(ctx, "incr", nil); return err },
			func() error { _, err := ts.ListPrompts(ctx); return err },
			func() error { _, err := ts.GetPrompt(ctx, "greet", map[string]string{"who": "Ada"}); return err },
			func() error { _, err := ts.ListResources(ctx); return err },
			func() error { _, err := ts.ListResourceTemplates(ctx); return err },
			func() error { _, err := ts.ReadResource(ctx, "note://one"); return err },
			func() error { _, err := ts.Complete(ctx, completion()); return err },
		} {
			if err := operation(); err != nil {
				return err
			}
		}
		return nil
	})
}

func completion() *mcp.CompleteParams {
	return &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
		Argument: mcp.CompleteParamsArgument{Name: "who", Value: "A"},
	}
}

// StatelessCalls has no block.
func StatelessCalls(ctx workflow.Context) error {
	search, err := stateless.New(ctx, stateless.Options{Server: Stateless, Repeatable: map[string]bool{"get": true}})
	if err != nil {
		return err
	}
	if _, err := search.ListTools(ctx); err != nil {
		return err
	}
	if _, err := search.CallTool(ctx, "get", map[string]any{"text": "tea"}); err != nil {
		return err
	}
	first, second := search.CallToolAsync(ctx, "incr", nil), search.CallToolAsync(ctx, "get", nil)
	return errors.Join(first.Get(ctx, nil), second.Get(ctx, nil))
}
