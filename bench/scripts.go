package main

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

// scriptCalls is how many calls a script makes, and a block beside it.
const scriptCalls = 50

// The rows of scripts, beside the block that makes the same calls.
const (
	stepBlockCalls  = "50 calls of a block"
	stepBlockScript = "50 calls as a script in the block"
	stepOwnBlock    = "open + 50 calls + close"
	stepOwnScript   = "50 calls as a script, own session"
)

const echoScript = "bench-echo"

func registerScripts() error {
	return session.RegisterScript(echoScript, func(ctx context.Context, mcp *session.Conn, in echo) (int, error) {
		for n := range scriptCalls {
			if said, err := session.Call[string](ctx, mcp, "echo", in); err != nil || said != in.Text {
				return n, fmt.Errorf("call %d: %q, %w", n, said, err)
			}
		}
		return scriptCalls, nil
	})
}

// scriptRound measures scripts against calls: in an open block, and with the opening
// and closing of a session.
func scriptRound(ctx workflow.Context, taken samples) error {
	calls := func(ctx workflow.Context, ts *toolset.Toolset) error {
		for range scriptCalls {
			if _, err := ts.CallTool(ctx, "echo", echo{"hello"}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := taken.time(stepOwnBlock, func() error {
		return toolset.With(ctx, toolset.Options{Server: "bench"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			return taken.time(stepBlockCalls, func() error { return calls(ctx, ts) })
		})
	}); err != nil {
		return err
	}
	if err := toolset.With(ctx, toolset.Options{Server: "bench"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		return taken.time(stepBlockScript, func() error { return ts.Run(ctx, echoScript, echo{"hello"}, nil) })
	}); err != nil {
		return err
	}
	return taken.time(stepOwnScript, func() error {
		_, err := toolset.RunScript[int](ctx, toolset.ScriptOptions{Server: "bench"}, echoScript, echo{"hello"})
		return err
	})
}
