package heartbeat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpsession/mcpsession/heartbeat"
)

// A mockDescriber shows what a test says, one answer after the other, the last
// for ever.
type mockDescriber struct {
	answers []func() (*workflowpb.PendingActivityInfo, error)
	calls   int
}

func (m *mockDescriber) describe(context.Context) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	answer := m.answers[min(m.calls, len(m.answers)-1)]
	m.calls++
	pending, err := answer()
	if err != nil {
		return nil, err
	}
	response := &workflowservice.DescribeWorkflowExecutionResponse{
		PendingActivities: []*workflowpb.PendingActivityInfo{{ActivityId: "another"}},
	}
	if pending != nil {
		response.PendingActivities = append(response.PendingActivities, pending)
	}
	return response, nil
}

func shown(attempt int32, marker heartbeat.Marker, change ...func(*workflowpb.PendingActivityInfo)) func() (*workflowpb.PendingActivityInfo, error) {
	return func() (*workflowpb.PendingActivityInfo, error) {
		pending := &workflowpb.PendingActivityInfo{ActivityId: "5", Attempt: attempt}
		if attempt == 1 {
			pending.ScheduledTime = timestamppb.New(scheduled)
		}
		if marker != "" {
			payloads, err := converter.GetDefaultDataConverter().ToPayloads(marker, heartbeat.Author{Attempt: attempt})
			if err != nil {
				return nil, err
			}
			pending.HeartbeatDetails, pending.LastHeartbeatTime = payloads, timestamppb.Now()
		}
		for _, c := range change {
			c(pending)
		}
		return pending, nil
	}
}

func fails(err error) func() (*workflowpb.PendingActivityInfo, error) {
	return func() (*workflowpb.PendingActivityInfo, error) { return nil, err }
}

func encrypted(p *workflowpb.PendingActivityInfo) {
	for _, payload := range p.HeartbeatDetails.Payloads {
		payload.Metadata[converter.MetadataEncoding] = []byte("binary/encrypted")
		payload.Data = []byte("secret")
	}
}

// byAnother is the marker of another attempt.
func byAnother(p *workflowpb.PendingActivityInfo) {
	author, err := converter.GetDefaultDataConverter().ToPayload(heartbeat.Author{Attempt: p.Attempt + 1})
	if err != nil {
		panic(err)
	}
	p.HeartbeatDetails.Payloads[1] = author
}

func failedBefore(p *workflowpb.PendingActivityInfo) { p.LastFailure = &failurepb.Failure{} }

// scheduledAgain is all that a reset during a retry's backoff leaves to be seen.
func scheduledAgain(p *workflowpb.PendingActivityInfo) {
	p.ScheduledTime = timestamppb.New(scheduled.Add(time.Minute))
}

// scheduled is when the workflow scheduled the activity.
var scheduled = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func TestConfirm(t *testing.T) {
	type answers = []func() (*workflowpb.PendingActivityInfo, error)
	for name, tc := range map[string]struct {
		attempt   int32
		answers   answers
		ranBefore bool
		err       string
		is        error
	}{
		"at once":               {1, answers{shown(1, heartbeat.MayBeOpen)}, false, "", nil},
		"after a stale answer":  {1, answers{shown(1, ""), shown(1, heartbeat.MayBeOpen)}, false, "", nil},
		"another marker first":  {2, answers{shown(2, heartbeat.Cleared), shown(2, heartbeat.MayBeOpen)}, true, "", nil},
		"another's marker":      {1, answers{shown(1, heartbeat.MayBeOpen, byAnother)}, false, "does not show the marker", context.DeadlineExceeded},
		"an older attempt":      {2, answers{shown(1, heartbeat.MayBeOpen), shown(2, heartbeat.MayBeOpen)}, true, "", nil},
		"a fault that passes":   {1, answers{fails(serviceerror.NewUnavailable("x")), shown(1, heartbeat.MayBeOpen)}, false, "", nil},
		"reset to attempt 1":    {1, answers{shown(1, heartbeat.MayBeOpen, failedBefore)}, true, "", nil},
		"reset in its backoff":  {1, answers{shown(1, heartbeat.MayBeOpen, scheduledAgain)}, true, "", nil},
		"encrypted":             {1, answers{shown(1, heartbeat.MayBeOpen, encrypted)}, false, "", nil},
		"encrypted, none yet":   {1, answers{shown(1, ""), shown(1, heartbeat.MayBeOpen, encrypted)}, false, "", nil},
		"never":                 {1, answers{shown(1, "")}, false, "does not show the marker", context.DeadlineExceeded},
		"a fault that stays":    {1, answers{fails(serviceerror.NewUnavailable("no shard"))}, false, "no shard", context.DeadlineExceeded},
		"denied":                {1, answers{fails(serviceerror.NewPermissionDenied("nope", ""))}, false, "Read role", heartbeat.ErrDescribeDenied},
		"the run is gone":       {1, answers{fails(serviceerror.NewNotFound("gone"))}, false, "gone", heartbeat.ErrNotPending},
		"the activity is gone":  {1, answers{fails(nil)}, false, "", heartbeat.ErrNotPending},
		"another attempt began": {1, answers{shown(2, heartbeat.MayBeOpen)}, false, "attempt 2", heartbeat.ErrNotPending},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				info := activity.Info{ActivityID: "5", Attempt: tc.attempt, ScheduledTime: scheduled}
				ranBefore, err := heartbeat.Confirm(ctx, (&mockDescriber{answers: tc.answers}).describe, info, heartbeat.MayBeOpen)
				if (err == nil) != (tc.is == nil) || (err != nil && (!errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.err))) {
					t.Errorf("err = %v, want %v with %q", err, tc.is, tc.err)
				}
				if ranBefore != tc.ranBefore {
					t.Errorf("ran before: %v, want %v", ranBefore, tc.ranBefore)
				}
			})
		})
	}
}
