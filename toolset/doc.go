// Package toolset is the workflow side of mcpsession: a scoped block of a
// workflow that owns one live MCP session, held by a worker that has the plugin of
// package session installed. Nothing here connects to anything.
//
//	err := toolset.With(ctx, toolset.Options{Server: "browser"},
//		func(ctx workflow.Context, browser *toolset.Toolset) error {
//			_, err := browser.CallTool(ctx, "browser_navigate", map[string]any{"url": url})
//			…
//		})
//	if failure.IsDedicatedWorker(err) {
//		// The session is lost, and its state with it: open a new block, or stop.
//	}
//
// # The block
//
//	          Open                            Close, or With's end
//	(none) ─────────▶ open ─────────────────────────────▶ closed
//	   │                │  the session activity ends
//	   │ OpenFailure    └──────────▶ lost ──────────────▶ closed (Close returns the loss)
//	   ▼
//	(none)
//
// Open schedules the session activity, which runs for as long as the block, and in
// the same workflow task asks the session what it is. Every operation then waits
// for its own result or for the end of the session activity, whichever is first;
// a result that came wins over a loss that came in the same workflow task. So a
// loss is told at once, whatever timeouts the operation has.
//
// # Scripts
//
// What makes many calls in a row, with nothing between them that a workflow must know
// of, costs less as a script: a function on the worker, registered there by
// session.RegisterScript, of which a run is one activity. [Toolset.Run] runs it on the
// block's session, [RunScript] on one of its own. What it loses is what a workflow has
// between two calls: history, timers, signals, and a retry of half of it.
//
// # Errors
//
// All errors of a lost, closed or unopened session, of a call without an answer,
// and of the server are those of package failure, which says when each happens and
// what it means for the tool. A cancelled context gives the SDK's CanceledError, as
// everywhere in workflow code. A tool result with IsError set is a result.
//
// The session activity does not run under the block's context: a block whose
// workflow is cancelled may go on to call tools, under a disconnected context, to
// clean up. Only Close ends the session.
//
// Code here is deterministic and replays. It draws once per block from
// workflow.GetRandomStream, which costs no event.
package toolset
