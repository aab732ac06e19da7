// Package replaytests tells whether workflows that are open survive a change of their
// code: it records the histories of runs, and replays them against the code as it is
// now. Workflows that have a block or call without one replay like any other; what
// they ask for is activities, on task queues of their own.
//
// # Histories of your own workflows
//
// Record a run that has shown what it is to show, and commit the file; it may still be
// open:
//
//	err := replaytests.Record(ctx, client, workflowID, runID, "testdata/visits/visit.json")
//
// Replay the folder in a test, with what the worker has:
//
//	func TestVisitReplays(t *testing.T) {
//		replaytests.Replay(t, "testdata/visits", replaytests.Options{
//			Register: func(r worker.WorkflowRegistry) { r.RegisterWorkflow(Visit) },
//			Replayer: worker.WorkflowReplayerOptions{DataConverter: encrypting},
//		})
//	}
//
// A history is left as it is for as long as a run may be open that was started by the
// code of then. A new one is recorded beside it, not in its place. A file has the run's
// ids, identities, times, inputs and results, as the server has them: record runs that
// are for this, not your customers'.
//
// # What is compared
//
// The SDK's replayer compares which commands come in which order, the ids of
// activities, and the last dotted part of their types. Of the rest nothing, and where a
// history ends with a workflow task that has only begun, nothing of the task before.
// So a history is cut, see [History.Cut], and this package compares too
//
//   - always: activity and child workflow types in full, task queues, how the run
//     ended, and in the inputs of this library's activities what an open run and its
//     session must agree on: run, key, instance, tool, arguments;
//   - with [Options].Exact: the inputs, timeouts and retry policies of all activities,
//     the inputs of child workflows, the time of timers. A change of those is safe for
//     open runs.
//
// Not compared are: headers, summaries, memos, search attributes, the inputs of signals
// and of Nexus operations, and local activities but for their order.
//
// The first difference is told as a [Difference]: the event that the history has, and
// what the code wants in its place.
//
// # Our own histories
//
// The folder histories has a folder for each release, and in it a history for each
// situation of package workflows whose commands that release has changed. The tests
// here replay all of them, and the newest of each exactly. Those in tests/replay run
// each workflow on a server, with real faults, and compare what it asks for with the
// newest history; they replay all histories with the code of the last release; and
// `make record` records there what is missing or differs. The names and times in them
// are fixed ones, so that a new recording differs only where the code does. See
// CONTRIBUTING for what may change, and how.
package replaytests
