// Package stateless shows calls of an MCP server that keeps no state: no session is
// opened, and each call is an activity like any other, which any worker may serve.
//
// In the order in which to read it:
//
//   - workflow.go has [Total], which adds up prices in several currencies. It asks for
//     all the conversions at once.
//   - worker is the program that runs workflows and makes their calls; they share one
//     process of the MCP server.
//   - rates is that server. It annotates its tool as read-only, so that a call whose
//     answer was lost is made again.
//   - starter starts a workflow.
//
// To run it, in the directory of this module, with a Temporal server on the usual
// port or one that TEMPORAL_ADDRESS or a profile in temporal.toml names:
//
//	go run ./stateless/worker
//	go run ./stateless/starter
package stateless
