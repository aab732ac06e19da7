// Package agent is a small tool-calling loop in a workflow: a model is asked what to
// do next, the tools that it names are called on one MCP session, and their results
// go back to it, until it has an answer.
//
// In the order in which to read it:
//
//   - workflow.go has [Shop], the loop, and what it does when the session is lost in
//     the middle of a turn: it tells the model so, and begins again with an empty
//     cart.
//   - model.go has the shapes that model APIs take, and [Model], the activity that
//     asks one. Its model is a script: what a real one would say is not the example's
//     subject.
//   - cart is the MCP server.
//
// To run it, in the directory of this module (it starts a Temporal server of its own
// unless TEMPORAL_ADDRESS or a profile in temporal.toml names one):
//
//	go run ./agent/demo
package agent
