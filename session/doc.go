// Package session makes a Temporal worker the host of stateful MCP sessions. It is
// for the worker side: install a [Plugin] that knows each [Server], and workflows
// open sessions of them with package toolset.
//
// # A session activity
//
// A block's session is held by one long activity on the host worker's task queue.
// While it serves, a second worker in the same process polls the block's own queue
// (package queue) for operations. One attempt goes through these steps:
//
//	1 read the past, decide whether a session may be opened
//	2 run the connector, which holds nothing yet
//	3 mark may-be-open; see by describe that the server has it
//	  (the activity ran before, no trace: listen to the block's queue first)
//	4 connect: transport, MCP handshake (failed: mark cleared)
//	5 mark opened
//	6 serve operations
//	7 end: cancel requests, close the server, answer close-session, report
//
// The next attempt finds the last marker that the server has. It may open where it
// finds nothing, or cleared; after may-be-open and opened it refuses: host-lost.
//
// After the loss of its host there is no next attempt of the same activity, as
// package toolset schedules it: its retry policy, also one of Options.Session,
// names the heartbeat timeout as one that is not retried, so that Temporal tells
// the workflow at once. Next attempts come after failures, panics and resets, and
// where an interceptor of the workflow has given the activity another policy.
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
// # Crash by crash
//
// What comes of a host that is killed, by the step that it was in: the marker that
// it leaves, and what an attempt does that comes next. Under toolset's policy none
// comes, and the workflow sees what the table says all the same; where the attempt
// would open, toolset.Open schedules a new activity. The last columns are how often
// connector, MCP handshake and tool ran in all for a block that makes one call, and
// what a server over HTTP keeps until it drops it by itself. No process of a server
// is left, given transport.Lifeline.
//
//	step  killed                            leaves       next        the workflow sees         connector  handshake  tool  kept over HTTP
//	1     before the connector              nothing      opens       nothing                   1          1          1     nothing
//	2     after the connector               nothing      opens       nothing                   2          1          1     nothing
//	3     marker written, not confirmed     may-be-open  refuses     OpenFailure, host-lost    1          0          0     nothing
//	3     marker confirmed                  may-be-open  refuses     OpenFailure, host-lost    1          0          0     nothing
//	4     in the handshake                  may-be-open  refuses     OpenFailure, host-lost    1          1          0     the session
//	4     handshake failed, marker cleared  cleared      opens       nothing                   2          2          1     nothing
//	4     after the handshake               may-be-open  refuses     OpenFailure, host-lost    1          1          0     the session
//	5     opened sent, not acknowledged     opened       refuses     OpenFailure, host-lost    1          1          0     the session
//	5     opened acknowledged               opened       refuses     OpenFailure, host-lost    1          1          0     the session
//	6     before its worker polls           opened       refuses     OpenFailure, host-lost    1          1          0     the session
//	6     while a call runs                 opened       refuses     call: host-lost, unknown  1          1          1     the session
//	6     call ran, completion not sent     opened       refuses     call: host-lost, unknown  1          1          1     the session
//	7     while closing                     opened       refuses     Close: host-lost          1          1          1     nothing
//	7     closed, nobody told               opened       refuses     Close: host-lost          1          1          1     nothing
//	7     closed, the block told            opened       refuses     nothing                   1          1          1     nothing
//	7     closed, the activity completed    nothing      none comes  nothing                   1          1          1     nothing
//
// The table is that of TestCrashPoints in tests/crash, which kills a host at each
// point. Where Open fails no tool ran. "Unknown" is whether the tool of the call
// ran, as the failure has it.
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
// # Stateless calls
//
// The same plugin serves the calls of package stateless: each is one activity that
// makes one request. There is no session and no ledger; what keeps a tool from running
// twice is that an attempt which may have sent its request fails for good, and that
// one which comes after another sends only if the one before has left word, as the
// details of its last heartbeat, that it did not. Connections on which the server
// speaks a version of MCP without sessions are shared by all calls of the worker and
// kept for a while; those of older versions, and those with an argument, are one
// call's own. The connector of a shared connection gets the context of the call that
// happens to open it: what differs between callers belongs in the argument, not in
// what is propagated by contexts.
//
// A connection that failed in transport is given to nobody else, and closed once the
// calls on it are over; a JSON-RPC error is no such failure. When a call times out, the
// server is asked for a word, and its connection is given up if none comes.
//
// # Scripts
//
// A script, see [RegisterScript], is a function of the worker's that makes many calls
// on one session in one activity. In a block it is one operation, which the ledger
// begins once. On a session of its own it is an activity without a block:
//
//	1 find the script, decode its input; read what earlier attempts left
//	2 leave word, as a heartbeat's details: not begun
//	3 connect, to a session that keeps state
//	4 leave word: begun; go on only once the server has it
//	5 run the script
//	6 close the session, wait until its server is gone, report
//
// What goes wrong up to step 4 is tried again, an attempt whose host was killed there
// by a new activity: its last word came with the timeout. From step 4 on nothing begins
// the script again, unless the workflow allows it: no retry, no reset of the activity
// or of the workflow. An attempt that finds no word where one must be takes it that the
// script has begun.
//
// A host that is cut off from the Temporal server ends its script, as it does any
// stateless call, by a lease like a block's: a heartbeat timeout after it sent the last
// heartbeat that was acknowledged, which is before the server gives the attempt up.
//
// The script has a [Conn] to work with, not the MCP session itself: each request of it
// goes the way that operations go, with CallTimeout, MaxConcurrentCalls and typed
// failures, and none is sent once the script's context has ended.
//
// # Warm sessions
//
// A worker can keep sessions that are started and through their handshake before a
// block wants one: see [Server].Warm. They change nothing of the steps above. A block
// that takes one has marked may-be-open before it does, as it has before it starts one
// itself, so a crash leaves what the table says; what waits has no run, no marker and
// no instance, no tool of it was ever called, and it ends with the process of the
// worker as any session does.
//
//	         started in the background         asked by a ping: alive
//	(none) ────────────▶ starting ────▶ ready ─────────────────────────▶ the block's
//	                        │             │ exits, does not answer,
//	                        │ fails       │ is wanted no more
//	                        ▼             ▼
//	                     (later)        closed
//
// Who is authoritative is the pool of a specification, under one lock of the process:
// a session leaves it before anybody else gets to see its connection, and none ever
// comes back. A specification is what the transport says that it would start
// ([transport.Specified]), compared at each opening with what the connector gives at
// that moment, so a session that was started with a secret that is rotated since is
// not used. Who finds none ready starts one, and takes what is ready first: that one,
// or one that was being started before.
//
// Starts that fail, and servers that exit soon, make the pool pause: 1 s at first, and
// up to a minute. The pools tell of themselves by [log/slog.Default], at level Debug but
// for what goes wrong. Pools end with the last worker that uses them, those of a worker
// without the plugin once its stop channel closes.
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
