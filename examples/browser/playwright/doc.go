// Package playwright installs and runs Playwright MCP, an MCP server that drives a
// browser. It is for the worker side.
//
// [Install] puts the version that package-lock.json pins into the user's cache
// directory, once. The server then runs over stdio, one process with a browser of
// its own for each session ([Installation.Connector]), or over HTTP, one process
// with one browser for many sessions, each of which has a browser context of its
// own ([Installation.Serve]).
//
// What is in a browser is the state that a session is opened for. Two things in
// Playwright MCP would replace it without a word, and are turned off here:
//
//   - It closes a browser after an hour without a call, and opens an empty one at
//     the next call. So it is given --idle-timeout 0; the worker's
//     session.Server.IdleTimeout can bound idle sessions, and tells.
//   - It starts a new browser in place of one that has died. browserlost.cjs makes
//     the server end instead.
package playwright
