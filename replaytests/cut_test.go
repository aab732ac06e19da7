package replaytests_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"

	"github.com/mcpsession/mcpsession/replaytests"
)

// A run may be recorded at any moment. Wherever its history ends, it is cut so that it
// replays, and so that a change of any command that is left is told: a cut hides
// nothing of what it shows.
func TestCutHidesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"completed", "open", "three", "selector", "ended-in-call", "server-gone", "child", "options"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := read(t, name)
			cuts := 0
			for end := 1; end <= len(whole.Events); end++ {
				if splits(whole, end) {
					continue
				}
				h := prefix(whole, end)
				err := h.Cut()
				if !completedTask(whole.Events[:end]) {
					if err == nil || !strings.Contains(err.Error(), "no workflow task was completed yet") {
						t.Errorf("the first %d events: %v; want an error", end, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("the first %d events: %v", end, err)
					continue
				}
				cuts++
				if err := h.Replay(ours()); err != nil {
					t.Errorf("the first %d events, cut to %d: %v", end, len(h.Events), err)
				}
				tamperWithLast(t, h)
			}
			if cuts < 2 {
				t.Errorf("%d cuts", cuts)
			}
		})
	}
}

// splits reports whether a history of so many events ends between a workflow task's
// completion and its last command, which the server writes as one.
func splits(whole *replaytests.History, end int) bool {
	if end == len(whole.Events) || whole.Events[end].GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
		return false
	}
	one, more := prefix(whole, end), prefix(whole, end+1)
	return one.Cut() == nil && more.Cut() == nil && len(more.Events) > len(one.Events)
}

// tamperWithLast changes the last activity that a history has scheduled, in each way
// that must be told.
func tamperWithLast(t *testing.T, h *replaytests.History) {
	t.Helper()
	last := -1
	for i, e := range h.Events {
		if e.GetActivityTaskScheduledEventAttributes() != nil {
			last = i
		}
	}
	if last < 0 {
		return
	}
	for field, change := range map[string]func(*historypb.ActivityTaskScheduledEventAttributes){
		"activity type": func(a *historypb.ActivityTaskScheduledEventAttributes) { a.ActivityType.Name = "mcp.counter.other" },
		"task queue":    func(a *historypb.ActivityTaskScheduledEventAttributes) { a.TaskQueue.Name = "elsewhere" },
	} {
		tampered := prefix(h, len(h.Events))
		tampered.Events[last] = proto.Clone(h.Events[last]).(*historypb.HistoryEvent)
		change(tampered.Events[last].GetActivityTaskScheduledEventAttributes())
		var difference *replaytests.Difference
		if err := tampered.Replay(ours()); !errors.As(err, &difference) || difference.EventID != h.Events[last].GetEventId() ||
			!strings.Contains(err.Error(), "another "+field) {
			t.Errorf("of %d events, %d has another %s: %v", len(h.Events), h.Events[last].GetEventId(), field, err)
		}
	}
}

// What the SDK's own replayer does with a history that ends where a workflow task has
// only begun: it compares nothing of the task before. This is why there is a cut.
func TestUncutHistoriesHide(t *testing.T) {
	t.Parallel()
	whole := read(t, "completed")
	second := 0
	for i, e := range whole.Events {
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED {
			if second++; second == 2 {
				whole.Events = whole.Events[:i+1]
				break
			}
		}
	}
	for _, e := range whole.Events {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil && a.GetActivityId() == "6" {
			a.ActivityType.Name = "mcp.counter.other"
		}
	}
	if err := replayAsTheSDK(t, whole); err != nil {
		t.Logf("the SDK sees it by now: %v", err)
	}
	if err := whole.Replay(ours()); err == nil || !strings.Contains(err.Error(), "event 6") {
		t.Errorf("a history that ends with a workflow task's start: %v", err)
	}
}

func read(t *testing.T, name string) *replaytests.History {
	t.Helper()
	h, err := replaytests.Read(filepath.Join(histories, "v0.1.0", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func prefix(h *replaytests.History, end int) *replaytests.History {
	return &replaytests.History{Shows: h.Shows, WorkflowID: h.WorkflowID, RunID: h.RunID, Events: slices.Clone(h.Events[:end])}
}

func completedTask(events []*historypb.HistoryEvent) bool {
	return slices.ContainsFunc(events, func(e *historypb.HistoryEvent) bool {
		return e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
	})
}
