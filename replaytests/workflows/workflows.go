// Package workflows holds the workflows whose histories are recorded, a situation
// each. A change of the commands that they, package toolset or package stateless emit
// makes their histories fail to replay, as it would break the open runs of users.
//
// They use what the release that they name has, and no more, as they are compiled
// with it too. What they ask for must not depend on who is faster: a recording is
// compared with the next one.
package workflows

import (
	"errors"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The names of the MCP servers that the workflows use.
const (
	// Server has the tools "incr" and "get" over a counter, "exit", which ends it with
	// a status, "exit-soon", which ends it after its answer, and "block", which waits
	// until it is cancelled; and a prompt, a resource and a template.
	Server = "counter"
	// Missing can't be started.
	Missing = "missing"
	// Stateless is called without a session.
	Stateless = "search"
)

// Hosts is the task queue of workers that hold sessions and are lost.
const Hosts = "replaytests-hosts"

// Go is the signal by which a workflow that waits goes on.
const Go = "go"

// A Situation is a workflow with a history.
type Situation struct {
	// Name is that of the workflow and of its history.
	Name string
	// Shows is a line that says what the history is an example of.
	Shows string
	// Since is the first release that has what the workflow uses.
	Since string
	Run   func(ctx workflow.Context) error
}

// All are the situations. A new one is a workflow and a line here; what has to
// happen to its run meanwhile is a line in the tests that record it.
var All = []Situation{
	{"completed", "a block that opens, lists, calls, and closes", "v0.1.0", Completed},
	{"open", "a block that waits, open, for a signal; the run is still open", "v0.1.0", Open},
	{"sequence", "two blocks one after the other", "v0.1.0", Sequence},
	{"three", "three blocks at once", "v0.1.0", Three},
	{"concurrent", "three calls at once", "v0.1.0", Concurrent},
	{"selector", "a call in a selector, which is faster than a timer", "v0.1.0", Selector},
	{"refused-retry", "a retry of the session activity that refuses to open another session", "v0.1.0", RefusedRetry},
	{"ended-before-call", "a session that ended before a call, which is not scheduled", "v0.1.0", EndedBeforeCall},
	{"ended-in-call", "a host that is lost while a call waits, which is not waited for", "v0.1.0", EndedInCall},
	{"ended-in-call-waiting", "the same with WaitForCancellation", "v0.1.0", EndedInCallWaiting},
	{"server-gone", "a server that ends in a call, and a new block", "v0.1.0", ServerGone},
	{"canceled", "a workflow that is cancelled in a block, which it closes", "v0.1.0", Canceled},
	{"open-failed", "a block that can't be opened, for good", "v0.1.0", OpenFailed},
	{"child", "a child workflow that has a block", "v0.1.0", Child},
	{ChildBlock, "the block in a child workflow", "v0.1.0", Completed},
	{"options", "options of the session, of operations and of single tools", "v0.1.0", WithOptions},
	{"operations", "every operation of a block", "v0.1.0", Operations},
	{"stateless", "stateless calls, one after the other and at once", "v0.1.0", StatelessCalls},
	{"script", "a script in a block, between calls", "v0.1.0", Script},
	{"script-of-its-own", "scripts on sessions of their own: one that runs, one with an error, one without a session", "v0.1.0", ScriptOfItsOwn},
	{"single-call", "a call on a connection of its own", "v0.1.0", SingleCall},
}

// ChildBlock is the situation that runs as the child of another.
const ChildBlock = "child-block"

// Register registers all workflows under their names.
func Register(registry worker.WorkflowRegistry) {
	for _, s := range All {
		registry.RegisterWorkflowWithOptions(s.Run, workflow.RegisterOptions{Name: s.Name})
	}
}

// unexpected is the error of a workflow that did not come into its situation: its
// history would show something else.
func unexpected(what string, err error) error {
	return errors.Join(errors.New(what), err)
}
