// Package waiting shows what a workflow can do with its MCP session while it waits
// days for a signal. An open session costs its host some memory and a heartbeat
// every ten seconds or so, and it is lost when the host is: a deploy, a crash, a
// machine that goes.
//
//   - [KeepOpen] keeps the session, where what it holds can't be made again. The
//     session has a timeout that is longer than the wait, the worker may end it when
//     it is idle for too long (session.Server.IdleTimeout), and the workflow hears of
//     its end at once, since it waits for that as well.
//   - [Reopen] closes the session before it waits, and opens another afterwards, in
//     which it does again what it needs. This is what to do as a rule.
//   - [NeverOpen] uses a server that keeps nothing between calls, by package
//     stateless: there is nothing to keep open.
//
// The tests run them on the clock of the Temporal SDK's test environment, which
// skips the days.
package waiting
