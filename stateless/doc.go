// Package stateless calls MCP servers that keep no state between calls: each
// operation is one activity, which any worker that has the plugin of package session
// installed may serve. It is for the workflow side; nothing here connects to
// anything. For a server that keeps state, a browser or a database session, use
// package toolset instead.
//
//	search, err := stateless.New(ctx, stateless.Options{Server: "search"})
//	if err != nil {
//		return err
//	}
//	found, err := search.CallTool(ctx, "find", map[string]any{"text": "tea"})
//
// # Connections
//
// Workers share and reuse the connections on which the server speaks a version of
// MCP without sessions, as they see when they connect: such a server treats each
// request on its own. A server over stdio is then one process for all callers of a
// worker. Connections of any older version, and those of a client with an
// Options.Argument, are opened for one call and closed after it. See
// session.Server for how long shared ones are kept, and how many there are.
//
// Options.PerCall gives every call a connection of its own, and [CallOnce] is one such
// call, typed. Options.ConnectTimeout bounds the opening for this client.
//
// # How often a tool runs
//
// At most once for one call, unless it may be repeated: Options.Repeatable says so, a
// RetryPolicy in Options.Tools names the tool, or the server annotates it as
// read-only or idempotent and this client has listed it. Lists, prompts, resources
// and completions may always be repeated.
//
//	what happens                      any other tool            what may be repeated
//	no connection could be opened     is tried again            is tried again
//	the server refuses it for now     is tried again            is tried again
//	the connection broke before it    is tried again            is tried again
//	its answer is lost                CallFailure, unknown      is tried again
//	its worker is lost                CallFailure, unknown      is tried again
//	CallTimeout passes                CallFailure, unknown      CallFailure, unknown
//	an answer, whatever it says       is the call's outcome     is the call's outcome
//
// "Unknown" is what failure.RanOf says then: whether the tool ran. What is tried again
// comes to an end after DefaultAttempts attempts, or those of CallOnce. An operator's reset of a call's
// activity makes the call again, as it asks for.
//
// # Errors
//
// All are those of package failure: OpenFailure (no tool ran), CallFailure,
// MCPProtocolError, ResultTooLarge; never a DedicatedWorkerFailure, as there is no
// session to lose. A cancelled context gives the SDK's CanceledError. A tool result
// with IsError set is a result.
//
// Code here is deterministic and replays.
package stateless
