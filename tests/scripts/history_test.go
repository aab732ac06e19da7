package scripts

import (
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
)

// An ended is an activity as a run's history has it, once it has ended.
type ended struct {
	Type    string
	Attempt int32
	End     enumspb.EventType
}

// activities returns those of a run.
func (b *bundle) activities(run client.WorkflowRun) []ended {
	b.Helper()
	var all []*ended
	byEvent := make(map[int64]*ended)
	end := func(scheduled int64, event *historypb.HistoryEvent) {
		if a := byEvent[scheduled]; a != nil {
			a.End = event.GetEventType()
		}
	}
	for _, event := range b.history(run).GetEvents() {
		switch {
		case event.GetActivityTaskScheduledEventAttributes() != nil:
			a := &ended{Type: event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName()}
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
	got := make([]ended, 0, len(all))
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
