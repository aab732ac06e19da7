package tests

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// A recorded is one activity as a run's history has it.
type recorded struct {
	*historypb.ActivityTaskScheduledEventAttributes
	summary  string
	started  *historypb.ActivityTaskStartedEventAttributes // nil unless it has ended
	canceled bool                                          // a cancel was requested
}

// activities returns the activities of a run in the order of their schedule.
// With a type, only those of that type.
func (b *bundle) activities(run client.WorkflowRun, activityType string) []*recorded {
	b.Helper()
	var all []*recorded
	byEvent := make(map[int64]*recorded)
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		switch {
		case event.GetActivityTaskScheduledEventAttributes() != nil:
			r := &recorded{ActivityTaskScheduledEventAttributes: event.GetActivityTaskScheduledEventAttributes()}
			if payload := event.GetUserMetadata().GetSummary(); payload != nil {
				if err := converter.GetDefaultDataConverter().FromPayload(payload, &r.summary); err != nil {
					b.Fatal(err)
				}
			}
			byEvent[event.GetEventId()] = r
			if activityType == "" || r.GetActivityType().GetName() == activityType {
				all = append(all, r)
			}
		case event.GetActivityTaskStartedEventAttributes() != nil:
			started := event.GetActivityTaskStartedEventAttributes()
			byEvent[started.GetScheduledEventId()].started = started
		case event.GetActivityTaskCancelRequestedEventAttributes() != nil:
			byEvent[event.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()].canceled = true
		}
	}
	return all
}

// described returns the open activities of a run; of the latest one without a run id.
func (b *bundle) described(ctx context.Context, workflowID, runID string) ([]*workflowpb.PendingActivityInfo, error) {
	description, err := b.client.DescribeWorkflow(ctx, workflowID, runID)
	if err != nil {
		return nil, err
	}
	return description.RawResponse.GetPendingActivities(), nil
}

// exited reports whether a process that this one started is gone.
func exited(t testing.TB, pid string) bool {
	t.Helper()
	id, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatalf("%q is no process id", pid)
	}
	process, err := os.FindProcess(id)
	if err != nil {
		return true
	}
	err = process.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone)
}

// asJSON returns a value as JSON with its keys sorted and its digits kept.
func asJSON(t testing.TB, value any) string {
	t.Helper()
	raw, ok := value.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			t.Fatal(err)
		}
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var generic any
	if err := decoder.Decode(&generic); err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	sorted, err := json.MarshalIndent(generic, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}

// activityTypeOf returns the type of the activity that runs under ctx.
func activityTypeOf(ctx context.Context) string { return activity.GetInfo(ctx).ActivityType.Name }
