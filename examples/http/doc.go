// Package http shows mcpsession in a workflow whose MCP server is remote, and wants
// to know who is there: it takes an Authorization with a token. The worker reads the
// token from a file, anew for each session, so that it can be changed at any time.
// Nothing of it gets to the workflow, or to where Temporal keeps what workflows do.
//
// In the order in which to read it:
//
//   - workflow.go has [KeepNotes], which keeps a notebook open in one block.
//   - worker is the program that runs workflows and holds their sessions. Its
//     function bearer makes the header.
//   - notebook is the MCP server, and server the program that serves it.
//   - starter starts a workflow, and sends it notes.
//
// To run it, in the directory of this module, with a Temporal server on the usual
// port or one that TEMPORAL_ADDRESS or a profile in temporal.toml names: make up a
// token, and then, in three terminals:
//
//	echo anything-goes >/tmp/token
//
//	go run ./http/server -token-file /tmp/token
//	go run ./http/worker -token-file /tmp/token
//	go run ./http/starter
//
// Change the file, and the next block has the new token. Give the worker another
// file than the server's, and the block fails to open: an OpenFailure with reason
// "unauthorized".
package http
