// Package briefing is a workflow that uses two MCP servers at once, and what MCP has
// besides tools: it completes a name, reads resources, gets a prompt, and calls
// typed tools.
//
// In the order in which to read it:
//
//   - workflow.go has [Brief], which opens both sessions with toolset.WithAll.
//   - servers has the two MCP servers.
//
// Its test runs it, with both servers in the test's own process:
//
//	go test ./briefing
package briefing
