// Package quickstart shows mcpsession in a workflow that computes on a scratch
// SQL database. The database belongs to an MCP session, and the session to the
// workflow: each call finds what the calls before it left there.
//
// In the order in which to read it:
//
//   - workflow.go has [TopRegion], a workflow with one block, in which it fills
//     the database and asks it two questions.
//   - database.go makes functions of the MCP server's two tools.
//   - worker is the program that runs workflows and holds their sessions, and
//     starter the one that starts a workflow.
//   - interrupted.go has [Interrupted], which waits in the middle of its block,
//     where the demo kills the process that holds the session: how a loss is told,
//     and how a workflow goes on after it.
//   - scratchdb is the MCP server, which any other could stand in for.
//
// To run it, in the directory of this module, with a Temporal server on the usual
// port or one that TEMPORAL_ADDRESS or a profile in temporal.toml names:
//
//	go run ./quickstart/worker
//	go run ./quickstart/starter
//
// The demo does all of it and looks at the outcome. It starts a server of its own
// unless one is named.
//
//	go run ./quickstart/demo
package quickstart
