package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// RefusedRetry is told that its session was lost: the activity
// was reset, and its second attempt did not open another.
func RefusedRetry(ctx workflow.Context) error {
	// Its beats say soon that it was reset.
	options := counter.Override(toolset.Options{Session: workflow.ActivityOptions{HeartbeatTimeout: 10 * time.Second}})
	return lost(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if err := get(ctx, ts); err != nil {
			return unexpected("the first call", err)
		}
		return ts.Ended(ctx).Get(ctx, nil)
	})
}

// EndedBeforeCall calls after its server has gone.
func EndedBeforeCall(ctx workflow.Context) error {
	return lost(ctx, counter, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if _, err := ts.CallTool(ctx, "exit-soon", nil); err != nil {
			return unexpected("the first call", err)
		}
		_ = ts.Ended(ctx).Get(ctx, nil)
		return get(ctx, ts)
	})
}

// hostLost are the options of blocks whose host is killed.
func hostLost(wait bool) toolset.Options {
	return toolset.Options{
		Server:    Server,
		Session:   workflow.ActivityOptions{TaskQueue: Hosts, HeartbeatTimeout: 10 * time.Second},
		Operation: workflow.ActivityOptions{WaitForCancellation: wait},
	}
}

// EndedInCall loses its host while a call waits.
func EndedInCall(ctx workflow.Context) error {
	return lost(ctx, hostLost(false), block)
}

// EndedInCallWaiting is EndedInCall with WaitForCancellation.
func EndedInCallWaiting(ctx workflow.Context) error {
	return lost(ctx, hostLost(true), block)
}

func block(ctx workflow.Context, ts *toolset.Toolset) error {
	if err := get(ctx, ts); err != nil {
		return unexpected("the first call", err)
	}
	_, err := ts.CallTool(ctx, "block", nil)
	return err
}

// ServerGone loses its session in a call and opens another.
func ServerGone(ctx workflow.Context) error {
	if err := lost(ctx, counter, func(ctx workflow.Context, ts *toolset.Toolset) error {
		_, err := ts.CallTool(ctx, "exit", map[string]any{"status": 3})
		return err
	}); err != nil {
		return err
	}
	return toolset.With(ctx, counter, get)
}

// OpenFailed can't open its block.
func OpenFailed(ctx workflow.Context) error {
	err := toolset.With(ctx, toolset.Options{Server: Missing}, get)
	if !failure.IsOpen(err) {
		return unexpected("the block opened", err)
	}
	return nil
}

// lost runs a block that must lose its session.
func lost(ctx workflow.Context, options toolset.Options, body func(workflow.Context, *toolset.Toolset) error) error {
	if err := toolset.With(ctx, options, body); !failure.IsDedicatedWorker(err) {
		return unexpected("the block told no loss", err)
	}
	return nil
}
