// Package browser shows mcpsession in workflows that drive a browser, by way of
// Playwright MCP. The browser belongs to an MCP session, and the session to the
// workflow: each call finds the page as the calls before it left it, and no other
// workflow sees that page.
//
// In the order in which to read it:
//
//   - workflow.go has [PlaceOrder], which orders tea over the pages of a shop, and
//     begins again if its browser is lost.
//   - page.go makes functions of the MCP server's tools, and snapshot.go finds in
//     what they return the elements to use them on.
//   - photograph.go has [Photograph], whose result can be too large for Temporal.
//   - worker is the program that runs workflows and holds their sessions, and
//     starter the one that starts a workflow. It serves the shop, too.
//   - playwright installs and runs Playwright MCP, and server is that over HTTP.
//   - shop is the web site.
//
// It takes Node.js, 20 or later, and Chromium (apt-get install chromium). The
// version of Playwright MCP that package-lock.json pins is installed into the
// user's cache directory when it is first needed.
//
// To run it, in the directory of this module, with a Temporal server on the usual
// port or one that TEMPORAL_ADDRESS or a profile in temporal.toml names: in one
// terminal the worker, which starts a browser for each session, and in another the
// starter.
//
//	go run ./browser/worker
//	go run ./browser/starter
//
// The same with one browser for all sessions, behind an MCP server over HTTP, in
// three terminals:
//
//	go run ./browser/server -port 8931
//	go run ./browser/worker -url http://localhost:8931/mcp
//	go run ./browser/starter
package browser
