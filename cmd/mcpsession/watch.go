package main

import (
	"strconv"
	"strings"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/mcpsession/mcpsession/queue"
)

// The bounds of what a watch waits for.
const (
	// untaken is how long a workflow may wait for a worker that seems to be there, and
	// untakenAlone for one where none seems to be.
	untaken      = 30 * time.Second
	untakenAlone = 5 * time.Second
	// abandoned is how long a workflow that a worker had taken may wait for another.
	abandoned = time.Minute
	// silence is how long Temporal may give no answer.
	silence = time.Minute
	// refusals is how many attempts at its first task make a worker that can't.
	refusals = 3
	// wordless is how long a person waits without a word of what for.
	wordless = 5 * time.Second
)

// A verdict is what becomes of a workflow that is watched.
type verdict int

const (
	goesOn verdict = iota
	notTaken
	notRunnable
	noLongerTaken
	temporalSilent
)

// A watch follows whether workers get on with a workflow.
type watch struct {
	patience time.Duration // with the first task
	heard    time.Time     // when Temporal answered last, or the watch began
	taken    bool          // a worker has got through the first task
	length   int64         // of the history, when the workflow began to wait for a worker
	waiting  time.Time     // since when it does; zero while it doesn't
}

// see judges what Temporal says of the workflow. An error says nothing of the workers:
// one that may not ask has a call that goes on all the same.
func (w *watch) see(described *workflowservice.DescribeWorkflowExecutionResponse, unanswered bool, now time.Time) verdict {
	switch {
	case unanswered && now.Sub(w.heard) > silence:
		return temporalSilent
	case unanswered:
		return goesOn
	}
	w.heard = now
	if described == nil {
		return goesOn
	}
	task, length := described.GetPendingWorkflowTask(), described.GetWorkflowExecutionInfo().GetHistoryLength()
	const firstTask = 3 // events: started, task scheduled, task started
	w.taken = w.taken || task == nil || task.GetAttempt() <= 1 && length > firstTask
	switch {
	case task == nil:
		w.waiting = time.Time{}
		return goesOn
	case w.waiting.IsZero() || w.taken && length != w.length:
		w.waiting, w.length = now, length
	}
	switch waited := now.Sub(w.waiting); {
	case !w.taken && (task.GetAttempt() >= refusals || task.GetAttempt() > 1 && waited > w.patience):
		return notRunnable
	case !w.taken && waited > w.patience:
		return notTaken
	case w.taken && waited > abandoned:
		return noLongerTaken
	}
	return goesOn
}

// sessionActivity is how the name of a session activity ends.
var sessionActivity = strings.TrimPrefix(queue.SessionActivity("x"), "mcp.x.")

// waitsFor says for people what a workflow of this program waits for.
func waitsFor(described *workflowservice.DescribeWorkflowExecutionResponse) string {
	var session *workflowpb.PendingActivityInfo
	for _, pending := range described.GetPendingActivities() {
		name := pending.GetActivityType().GetName()
		switch name[strings.LastIndexByte(name, '.')+1:] {
		case sessionActivity:
			session = pending
		case string(queue.OperationSessionInfo):
		default:
			return "waiting for the server's answer"
		}
	}
	switch last := session.GetLastFailure().GetMessage(); {
	case described.GetPendingWorkflowTask() != nil || session == nil:
		return "waiting for a worker"
	case last != "":
		return "waiting for the server to start, attempt " + strconv.Itoa(int(session.GetAttempt())) + "; the last: " + firstLine(last)
	}
	return "waiting for the server to start (a package runner downloads it the first time)"
}

// words tell a person what a command waits for: not at once, each only once, and
// nothing that has passed by the next look.
type words struct {
	began      time.Time
	seen, said string
	say        func(format string, args ...any)
}

func (w *words) tell(described *workflowservice.DescribeWorkflowExecutionResponse) {
	if time.Since(w.began) < wordless {
		return
	}
	now := waitsFor(described)
	if now == w.seen && now != w.said {
		w.say("%s", now)
		w.said = now
	}
	w.seen = now
}
