// Package session makes a Temporal worker the host of stateful MCP sessions. It is
// for the worker side: install a [Plugin] that knows each [Server], and workflows
// open sessions of them with package toolset.
//
// # A session activity
//
// A block's session is held by one long activity on the host worker's task queue.
// While it serves, a second worker in the same process polls the block's own queue
// (package queue) for operations. One attempt goes through these steps; the right
// column is what the next attempt finds when the process dies in between, and what
// it then does.
//
//	step                                     after a crash the next attempt finds
//	1 read the past, decide                  nothing           → may open
//	2 run the connector (holds nothing yet)  nothing           → may open
//	3 mark may-be-open; see it by describe   may-be-open       → refuses: host-lost
//	  (the activity ran before, no trace:
//	  listen to the block's queue first)
//	4 connect: transport, MCP handshake      may-be-open       → refuses: host-lost
//	  (failed: mark cleared)                 cleared           → may open
//	5 mark opened                            may-be-open, opened → refuses: host-lost
//	6 serve operations                       opened            → refuses: host-lost
//	7 end: cancel requests, close the        opened            → refuses: host-lost
//	  server, answer close-session, report
//
// After the loss of its host there is no next attempt of the same activity, as
// package toolset schedules it: Temporal tells the workflow of the heartbeat
// timeout at once. Next attempts come after failures, panics and resets, and under
// a retry policy of one's own. Where the host was lost before step 3, toolset.Open
// schedules a new activity.
//
// An attempt that finds nothing although an attempt ran before it opens only once
// its block asks for a session: a reset can have dropped the markers of a session
// that the block uses. Package heartbeat holds the markers and the rule.
//
//	connecting ──▶ serving ──▶ ending ──▶ over
//	     │            │ first reason wins
//	     └────────────┴──▶ closed by its block, cancelled, its run closed,
//	                       or lost: server-gone, worker-stopped, host-lost,
//	                       reset, idle, expired, dedicated-worker
//
// Whatever ends a session, requests under way are cancelled first, then the MCP
// server is closed and waited for, in bounded time, and only then is the end
// reported: who opens a new session meets no old one.
//
// # Operations
//
// Operations are activities; they are retried, and a tool must not be. So the
// session keeps a ledger by activity ID. A retry of an operation that runs joins
// it; a retry of one that has ended gets what was recorded; a result that the
// ledger had to drop leaves a tombstone, and the retry is told that the tool ran.
// An operation is served only if it is of this block, of the run that its own
// activity info names, and for this session's instance, and only while the host
// owns the session (see the lease in package heartbeat). What is refused has not
// run.
//
// A request to the server ends by an answer, by its CallTimeout, by the workflow's
// cancel, or with its session. The end of an activity's attempt — its
// start-to-close timeout, a shutdown, a pause — never cancels it.
//
// # Hosts of their own
//
// A worker that runs workflows need not hold sessions. Give the workers that do a
// task queue of their own, named in toolset.Options.Session.TaskQueue, and
// worker.Options.DisableWorkflowWorker; a worker of the other kind sets
// worker.Options.LocalActivityWorkerOnly, or at least doesn't share that queue: a
// worker that polls it without the plugin takes session activities and fails them,
// with reason unknown-server.
//
// # What opening needs
//
// The worker's client must be allowed to call DescribeWorkflowExecution for the
// workflows that it serves.
package session
