// Package examples holds programs that show mcpsession at work, each with what
// it takes to run it. It has no code of its own.
//
//   - quickstart: a workflow that computes on a scratch SQL database of its own,
//     and what it sees when the process that holds the database dies.
//   - browser: a workflow that orders from a shop, in a browser that Playwright MCP
//     drives, over stdio and over HTTP.
//   - http: a server elsewhere, with a token that stays on the worker.
//   - agent: a tool-calling loop, and what it does when the session is lost in the
//     middle of a turn.
//   - waiting: three ways to wait for days, tested on a skipped clock.
//   - briefing: two servers at once, resources, prompts, completion, typed calls.
//   - stateless: calls of a server that keeps nothing, without a session.
package examples
