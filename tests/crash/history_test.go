package crash

import (
	"context"
	"encoding/json"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
)

// A sessionActivity is one of a block as the run's history has it. How many
// attempts it had is not counted: on a busy machine the server can lose one on its
// way to a worker.
type sessionActivity struct {
	retried bool   // the last attempt was not the first
	host    string // the identity of the worker that took it
	left    string // what it had left, if it was ended by its heartbeat timeout
	end     string // how the activity ended
}

// The ends of a session activity.
const (
	completed    = "completed"
	failed       = "failed"
	refused      = "refused" // failed with a DedicatedWorkerFailure
	timedOut     = "timed out"
	hostTimedOut = "host timed out" // by its heartbeat timeout
)

// events reads the history of the run, until enough says so; it waits for what
// comes if it is told to.
func (t *trial) events(wait bool, enough func(*historypb.HistoryEvent) bool) {
	t.Helper()
	history := t.client.GetWorkflowHistory(t.ctx, t.execution.GetID(), t.execution.GetRunID(), wait, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			t.Fatalf("read the history: %v", err)
		}
		if enough(event) {
			return
		}
	}
}

// tellHistory logs the events of the run if the row has failed.
func (t *trial) tellHistory(ctx context.Context) {
	if !t.Failed() {
		return
	}
	history := t.client.GetWorkflowHistory(ctx, t.execution.GetID(), t.execution.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			t.Logf("read the history: %v", err)
			return
		}
		t.Logf("%s %d %v", event.GetEventTime().AsTime().Format("15:04:05.000"), event.GetEventId(), event.GetEventType())
	}
}

// scheduled returns how many activities the run has scheduled that are wanted.
func (t *trial) scheduled(wanted func(*historypb.ActivityTaskScheduledEventAttributes) bool) (n int) {
	t.Helper()
	t.events(false, func(e *historypb.HistoryEvent) bool {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil && wanted(a) {
			n++
		}
		return false
	})
	return n
}

func isCall(a *historypb.ActivityTaskScheduledEventAttributes) bool {
	return a.GetActivityType().GetName() == queue.OperationActivity(serverName, queue.OperationCallTool)
}

// isSession reports whether an activity is a session activity of the block that
// was hit.
func isSession(a *historypb.ActivityTaskScheduledEventAttributes) bool {
	var input queue.SessionInput
	var block string
	return a.GetActivityType().GetName() == queue.SessionActivity(serverName) &&
		converter.GetDefaultDataConverter().FromPayloads(a.GetInput(), &input) == nil &&
		json.Unmarshal(input.Argument, &block) == nil && block == blockHit
}

// awaitSessions returns the session activities of the block that was hit, which is
// over for the workflow, once all have ended.
func (t *trial) awaitSessions() []*sessionActivity {
	t.Helper()
	left := t.scheduled(isSession)
	if left == 0 {
		t.Fatal("the block has scheduled no session")
	}
	var all []*sessionActivity
	byEvent := make(map[int64]*sessionActivity)
	end := func(scheduled int64, how, marker string) {
		if s := byEvent[scheduled]; s != nil {
			s.end, s.left = how, marker
			left--
		}
	}
	t.events(true, func(e *historypb.HistoryEvent) bool {
		switch {
		case e.GetActivityTaskScheduledEventAttributes() != nil:
			if isSession(e.GetActivityTaskScheduledEventAttributes()) {
				byEvent[e.GetEventId()] = &sessionActivity{}
				all = append(all, byEvent[e.GetEventId()])
			}
		case e.GetActivityTaskStartedEventAttributes() != nil:
			started := e.GetActivityTaskStartedEventAttributes()
			if s := byEvent[started.GetScheduledEventId()]; s != nil {
				s.retried, s.host = started.GetAttempt() > 1, started.GetIdentity()
			}
		case e.GetActivityTaskCompletedEventAttributes() != nil:
			end(e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(), completed, "")
		case e.GetActivityTaskFailedEventAttributes() != nil:
			how := failed
			if e.GetActivityTaskFailedEventAttributes().GetFailure().GetApplicationFailureInfo().GetType() == failure.TypeDedicatedWorker {
				how = refused
			}
			end(e.GetActivityTaskFailedEventAttributes().GetScheduledEventId(), how, "")
		case e.GetActivityTaskTimedOutEventAttributes() != nil:
			why := e.GetActivityTaskTimedOutEventAttributes().GetFailure()
			how, marker := timedOut, ""
			if why.GetTimeoutFailureInfo().GetTimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT {
				how, marker = hostTimedOut, leftBy(why)
			}
			end(e.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId(), how, marker)
		}
		return left == 0
	})
	return all
}

// leftBy returns what an attempt had left that a timeout ended: a marker, or
// nothing.
func leftBy(f *failurepb.Failure) string {
	details := f.GetTimeoutFailureInfo().GetLastHeartbeatDetails().GetPayloads()
	if len(details) == 0 {
		return leavesNothing
	}
	var marker heartbeat.Marker
	if err := converter.GetDefaultDataConverter().FromPayload(details[0], &marker); err != nil {
		return err.Error()
	}
	return string(marker)
}
