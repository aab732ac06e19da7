// Command mcpsession is mcpsession for people without Go code of their own: a worker
// that hosts the MCP servers of a configuration file on a Temporal task queue, and the
// commands to look at them, to call their tools, and to see which sessions are open.
//
//	mcpsession worker --config mcp.json
//	mcpsession list
//	mcpsession list memory
//	mcpsession call memory create_entities '{"entities": []}'
//	mcpsession sessions
//
// The file is one that Claude Desktop, Claude Code, Cursor or VS Code has, as it is;
// see session.Load for what it may hold. Where Temporal is, TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_API_KEY and the others of Temporal's client configuration
// say, or the file that they name; the flags win.
//
// # Exit codes
//
//	0    it worked
//	1    the tool ran and says itself that it failed (isError); its result is printed
//	2    the command line or the configuration file is wrong; nothing was done
//	3    a call failed: a JSON-RPC error, a timeout, a lost session, a result too large
//	4    no session could be opened; no tool ran
//	5    Temporal can't be reached or refuses, or no worker polls the task queue
//	130  interrupted
//
// Results go to stdout, everything else to stderr; with --output json both are JSON.
package main

import (
	"context"
	"os"

	"github.com/mcpsession/mcpsession/transport"
)

func main() {
	// No process of a server outlives the worker, however that ends.
	transport.Lifeline()
	os.Exit(run(context.Background(), os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
