// Package queue is the wire contract between the workflow and the worker that
// holds its session, and nothing else: the names of task queues and activities
// and the envelopes that cross them. Both sides import it; what stands here is
// part of the protocol, since a workflow of one release may meet a worker of
// another. Fields are only ever added, with a zero value that means what their
// absence meant.
//
// # Who owns what
//
// A block is named by its run and by a key that the workflow draws when it opens
// the block. Its operations go to one task queue, [Name], that nothing else uses:
//
//	<server>@<runID>/<key>
//
// The session activity that opens a session makes an instance, a random name, new
// at each attempt that opens. The workflow learns it from [SessionInfo] and sends
// it with every operation; a session serves its own instance and no other. So an
// operation is bound to one live session three times over: by its queue, by the
// run that its own activity info names, and by the instance.
//
//	workflow                         session activity (attempt n)
//	   │ SessionInput{run, key} ───────▶ opens, makes instance i
//	   │ SessionInfo{run, key} ────────▶
//	   │ ◀──────────────── Info{instance i}
//	   │ CallTool{run, key, i} ────────▶ i is mine: serve
//	   │ CallTool{run, key, j} ────────▶ j is not: refuse, for good
//
// A stateless operation, [Stateless], belongs to no block: it goes to the task queue
// that the host polls, names its run and nothing else, and is served by whoever
// takes it. A script, [RunScript], is an operation of a block, or a stateless one whose
// attempts leave word of how far they came, as a [Trace].
package queue
