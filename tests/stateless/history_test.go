package stateless

import (
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
)

// An activity is one as a run's history has it, once it has ended.
type activity struct {
	Type    string
	Attempt int32
	End     enumspb.EventType
}

// activities returns those of a run.
func (b *bundle) activities(run client.WorkflowRun) []activity {
	b.Helper()
	var all []*activity
	byEvent := make(map[int64]*activity)
	end := func(scheduled int64, event *historypb.HistoryEvent) {
		if a := byEvent[scheduled]; a != nil {
			a.End = event.GetEventType()
		}
	}
	for _, event := range b.history(run).GetEvents() {
		switch {
		case event.GetActivityTaskScheduledEventAttributes() != nil:
			a := &activity{Type: event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()}
			all, byEvent[event.GetEventId()] = append(all, a), a
		case event.GetActivityTaskStartedEventAttributes() != nil:
			started := event.GetActivityTaskStartedEventAttributes()
			byEvent[started.GetScheduledEventId()].Attempt = started.GetAttempt()
		case event.GetActivityTaskCompletedEventAttributes() != nil:
			end(event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(), event)
		case event.GetActivityTaskFailedEventAttributes() != nil:
			end(event.GetActivityTaskFailedEventAttributes().GetScheduledEventId(), event)
		case event.GetActivityTaskTimedOutEventAttributes() != nil:
			end(event.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId(), event)
		case event.GetActivityTaskCanceledEventAttributes() != nil:
			end(event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), event)
		}
	}
	got := make([]activity, 0, len(all))
	for _, a := range all {
		got = append(got, *a)
	}
	return got
}

// history returns all of a run's history.
func (b *bundle) history(run client.WorkflowRun) *historypb.History {
	b.Helper()
	history := new(historypb.History)
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		history.Events = append(history.Events, event)
	}
	return history
}

// historyText returns all of a run's history as JSON, with the payloads in it as what
// they hold.
func (b *bundle) historyText(run client.WorkflowRun) string {
	b.Helper()
	text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(b.history(run))
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// wantAttempts fails the test unless the run's activities ended in these attempts.
func (b *bundle) wantAttempts(run client.WorkflowRun, attempts ...int32) {
	b.Helper()
	got := b.activities(run)
	if len(got) != len(attempts) {
		b.Errorf("the activities are %+v; want %d", got, len(attempts))
		return
	}
	for i, a := range got {
		if a.Attempt != attempts[i] {
			b.Errorf("activity %d is %+v; want attempt %d", i, a, attempts[i])
		}
	}
}
