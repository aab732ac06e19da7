package replaytests

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Commands returns what the code has asked for, a line each: activities with their
// task queue, options and input, timers, child workflows and the rest. What differs
// from run to run, the run's id, the keys and instances of blocks, the task queue that
// the workflow ran on, is replaced by a name. So two runs of the same code on the same
// answers give the same lines, and where they differ the code has changed: open runs
// may not survive that.
//
// A nil data converter is the SDK's default; give the one that the history was
// written with if that has a codec.
func (h *History) Commands(dataConverter converter.DataConverter) []string {
	if dataConverter == nil {
		dataConverter = converter.GetDefaultDataConverter()
	}
	names := map[string]string{}
	for i, event := range h.Events {
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil && strings.HasPrefix(scheduled.GetActivityType().GetName(), "mcp.") {
			noteIdentities(names, inputOf(dataConverter, scheduled.GetInput()))
		}
		if started := event.GetWorkflowExecutionStartedEventAttributes(); started != nil && i == 0 {
			names[started.GetTaskQueue().GetName()] = "<task queue>"
			names[started.GetOriginalExecutionRunId()] = "<run>"
		}
	}
	for _, id := range h.earlierRuns() {
		names[id] = "<run>"
	}
	names[h.RunID] = "<run>"
	delete(names, "")

	var lines []string
	numbers := map[int64]int{} // of activities and timers, by the event that asked for them
	for _, event := range h.Events {
		if !isCommand(event.GetEventType()) {
			continue
		}
		line := describe(event, numbers, dataConverter)
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED:
			n := len(numbers) + 1
			numbers[event.GetEventId()] = n
			line = fmt.Sprintf("%d: %s", n, line)
		}
		lines = append(lines, replace(line, names))
	}
	return lines
}

var identity = regexp.MustCompile(`"(key|instance)":"([^"]+)"`)

// noteIdentities names the keys and instances of an input, in the order of their
// coming.
func noteIdentities(names map[string]string, input string) {
	for _, found := range identity.FindAllStringSubmatch(input, -1) {
		if names[found[2]] == "" {
			n := 1
			for _, name := range names {
				if strings.HasPrefix(name, "<"+found[1]) {
					n++
				}
			}
			names[found[2]] = fmt.Sprintf("<%s %d>", found[1], n)
		}
	}
}

func replace(line string, names map[string]string) string {
	// In whole: a task queue may be called as a word of something else is.
	return whole.ReplaceAllStringFunc(line, func(word string) string {
		if name := names[word]; name != "" {
			return name
		}
		return word
	})
}

var whole = regexp.MustCompile(`[\p{L}\p{N}_.-]+`)

// describe says in a line what a command event asks for.
func describe(event *historypb.HistoryEvent, numbers map[int64]int, dataConverter converter.DataConverter) string {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		a := event.GetActivityTaskScheduledEventAttributes()
		line := fmt.Sprintf("activity %s on %s", a.GetActivityType().GetName(), a.GetTaskQueue().GetName())
		for name, d := range inOrder(
			"schedule-to-close", a.GetScheduleToCloseTimeout(), "schedule-to-start", a.GetScheduleToStartTimeout(),
			"start-to-close", a.GetStartToCloseTimeout(), "heartbeat", a.GetHeartbeatTimeout(),
		) {
			line += fmt.Sprintf(", %s %v", name, d)
		}
		return line + ", retry " + policyOf(a.GetRetryPolicy()) + ", input " + inputOf(dataConverter, a.GetInput())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
		return fmt.Sprintf("cancel activity %d", numbers[event.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()])
	case enumspb.EVENT_TYPE_TIMER_STARTED:
		return fmt.Sprintf("timer of %v", event.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
	case enumspb.EVENT_TYPE_TIMER_CANCELED:
		return fmt.Sprintf("cancel timer %d", numbers[event.GetTimerCanceledEventAttributes().GetStartedEventId()])
	case enumspb.EVENT_TYPE_MARKER_RECORDED:
		return "marker " + event.GetMarkerRecordedEventAttributes().GetMarkerName()
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		a := event.GetStartChildWorkflowExecutionInitiatedEventAttributes()
		return fmt.Sprintf("child workflow %s on %s, input %s", a.GetWorkflowType().GetName(), a.GetTaskQueue().GetName(), inputOf(dataConverter, a.GetInput()))
	default:
		return event.GetEventType().String()
	}
}

// inOrder yields the pairs whose duration is not zero.
func inOrder(pairs ...any) func(yield func(string, time.Duration) bool) {
	return func(yield func(string, time.Duration) bool) {
		for ; len(pairs) > 0; pairs = pairs[2:] {
			if d := pairs[1].(*durationpb.Duration).AsDuration(); d != 0 && !yield(pairs[0].(string), d) {
				return
			}
		}
	}
}

func policyOf(p *commonpb.RetryPolicy) string {
	return fmt.Sprintf("%v×%g up to %v, attempts %d, not %q", p.GetInitialInterval().AsDuration(), p.GetBackoffCoefficient(),
		p.GetMaximumInterval().AsDuration(), p.GetMaximumAttempts(), p.GetNonRetryableErrorTypes())
}

// inputOf returns arguments as text, JSON without blanks where they are JSON.
func inputOf(dataConverter converter.DataConverter, payloads *commonpb.Payloads) string {
	texts := dataConverter.ToStrings(payloads)
	for i, text := range texts {
		texts[i] = canonical(text)
	}
	return strings.Join(texts, ", ")
}

// canonical returns JSON with its keys in order, and any other text as it is.
func canonical(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return text
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return string(encoded)
}
