package replaytests

import (
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// A comparison of a history with what the code has wished for in its replay.
type comparison struct {
	exact          bool
	allowTaskQueue func(activityType, recorded, wanted string) bool
	dataConverter  converter.DataConverter
	// run is the run's id, and earlier those that it had before it was reset: what is
	// from before names them, and the code names itself.
	run     string
	earlier []string
}

// A mismatch is an event without a wish, a wish without an event, or the two of them
// that should be one; field says in what they differ.
type mismatch struct {
	event, wish *historypb.HistoryEvent
	field       string
}

// find returns the first mismatch, nil if there is none. With failed the SDK has found
// one, and every wish that was sent must have its event. Else a wish may have none:
// what is cancelled in the workflow task that it came in is not always sent.
func (c comparison) find(events []*historypb.HistoryEvent, wishes []wish, failed bool) *mismatch {
	last := int64(0)
	for _, task := range tasks(events) {
		last = task.started
		var wanted []wish
		for _, w := range wishes {
			if w.task == task.started {
				wanted = append(wanted, w)
			}
		}
		if !failed && c.embeds(task.commands, wanted) {
			continue
		}
		if m := c.align(task.commands, wanted, failed); m != nil {
			return m
		}
	}
	for _, w := range wishes {
		if failed && w.task > last {
			return &mismatch{wish: w.event}
		}
	}
	return nil
}

// A task is a completed workflow task, with the commands of the kinds that a trace
// sees.
type task struct {
	started  int64
	commands []*historypb.HistoryEvent
}

func tasks(events []*historypb.HistoryEvent) (all []task) {
	for _, event := range events {
		if completed := event.GetWorkflowTaskCompletedEventAttributes(); completed != nil {
			all = append(all, task{started: completed.GetStartedEventId()})
		} else if traced(event.GetEventType()) && len(all) > 0 {
			all[len(all)-1].commands = append(all[len(all)-1].commands, event)
		}
	}
	return all
}

func traced(eventType enumspb.EventType) bool {
	switch eventType {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED,
		enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	}
	return false
}

// align compares the commands of one workflow task one by one.
func (c comparison) align(events []*historypb.HistoryEvent, wanted []wish, failed bool) *mismatch {
	for len(events) > 0 || len(wanted) > 0 {
		var m mismatch
		if len(events) > 0 {
			m.event = events[0]
		}
		if len(wanted) > 0 {
			m.wish = wanted[0].event
		}
		switch {
		case m.event == nil && !failed:
			return nil
		case m.event != nil && m.wish != nil:
			m.field = c.differ(m.event, m.wish)
		}
		switch {
		case m.field == "" && m.event != nil && m.wish != nil:
			events, wanted = events[1:], wanted[1:]
		case m.wish != nil && wanted[0].settled:
			wanted = wanted[1:]
		default:
			return &m
		}
	}
	return nil
}

// embeds reports whether each event has its wish, in order.
func (c comparison) embeds(events []*historypb.HistoryEvent, wanted []wish) bool {
	for _, w := range wanted {
		if len(events) > 0 && c.differ(events[0], w.event) == "" {
			events = events[1:]
		}
	}
	return len(events) == 0
}

// differ returns in what an event is not what the code wants, empty if it is.
func (c comparison) differ(event, wish *historypb.HistoryEvent) string {
	if event.GetEventType() != wish.GetEventType() {
		return "kind"
	}
	switch {
	case event.GetActivityTaskScheduledEventAttributes() != nil:
		return c.differInActivity(event.GetActivityTaskScheduledEventAttributes(), wish.GetActivityTaskScheduledEventAttributes())
	case event.GetStartChildWorkflowExecutionInitiatedEventAttributes() != nil:
		a, w := event.GetStartChildWorkflowExecutionInitiatedEventAttributes(), wish.GetStartChildWorkflowExecutionInitiatedEventAttributes()
		switch {
		case a.GetWorkflowType().GetName() != w.GetWorkflowType().GetName():
			return "workflow type"
		case a.GetTaskQueue().GetName() != w.GetTaskQueue().GetName():
			return "task queue"
		case c.exact && inputOf(c.dataConverter, a.GetInput()) != inputOf(c.dataConverter, w.GetInput()):
			return "input"
		}
	case event.GetTimerStartedEventAttributes() != nil:
		a, w := event.GetTimerStartedEventAttributes(), wish.GetTimerStartedEventAttributes()
		if c.exact && !proto.Equal(a.GetStartToFireTimeout(), w.GetStartToFireTimeout()) {
			return "duration"
		}
	}
	return ""
}
