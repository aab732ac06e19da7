package stateless

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

// DefaultOnceRetries is how often [CallOnce] tries again when no connection could be
// opened, or when the call is one that may be made again.
const DefaultOnceRetries = 3

// CallOnce makes one typed call: its activity opens a connection, calls the tool and
// closes the connection. What the server keeps for a connection, a process over stdio
// or a session over HTTP, is that call's alone.
//
// The types are those of toolset.Call: In is anything that encodes to a JSON object,
// or a toolset.ArgumentEncoder, and Out may be a toolset.ResultDecoder. Errors are
// those of [Client.CallTool], and a result with IsError is one of type ToolError.
// Options.ConnectTimeout bounds the opening, and Options.CallTimeout the call. Without
// a RetryPolicy of Options.Operation it tries again DefaultOnceRetries times; a tool
// runs at most once all the same, unless it may be repeated, as the package's comment
// has it.
func CallOnce[Out any](ctx workflow.Context, options Options, tool string, in any) (Out, error) {
	options.PerCall = true
	if options.Operation.RetryPolicy == nil {
		options.Operation.RetryPolicy = &temporal.RetryPolicy{
			InitialInterval: time.Second, MaximumInterval: 10 * time.Second, MaximumAttempts: 1 + DefaultOnceRetries,
		}
	}
	client, err := New(ctx, options)
	if err != nil {
		var none Out
		return none, err
	}
	return toolset.Call[Out](ctx, client, tool, in)
}
