package heartbeat_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/heartbeat"
)

// A mockRecorder keeps what the last heartbeat said, as the server would.
type mockRecorder struct {
	beats atomic.Int64
	last  atomic.Pointer[commonpb.Payloads]
}

func (m *mockRecorder) RecordActivityHeartbeatWithOptions(_ context.Context, options client.RecordActivityHeartbeatOptions) error {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(options.Details...)
	m.last.Store(payloads)
	m.beats.Add(1)
	return err
}

// A beat tells the tally as it is then, and only once there is a marker: one before
// would leave a trace of an attempt that has done nothing.
func TestTallyIsToldWithEveryBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mockRecorder{}
		var calls atomic.Int64
		w := heartbeat.NewWriter(heartbeat.WriterOptions{
			Recorder: m, Info: activity.Info{HeartbeatTimeout: timeout, WorkflowType: &workflow.Type{}},
			Author: heartbeat.Author{Attempt: 3}, Logger: quiet{},
			Tally: func() heartbeat.Tally { return heartbeat.Tally{Calls: calls.Load(), Running: 1} },
		})
		w.Start()
		defer w.Stop()
		time.Sleep(timeout)
		synctest.Wait()
		if last := m.last.Load(); m.beats.Load() == 0 || len(last.GetPayloads()) != 0 {
			t.Errorf("of %d beats without a marker the last says %v", m.beats.Load(), last)
		}
		if err := w.Mark(t.Context(), heartbeat.Opened); err != nil {
			t.Fatal(err)
		}
		for want := range int64(3) {
			calls.Store(want)
			time.Sleep(timeout / 2)
			synctest.Wait()
			got, err := heartbeat.ReadBeat(converter.GetDefaultDataConverter(), m.last.Load())
			expected := heartbeat.Beat{Marker: heartbeat.Opened, Author: heartbeat.Author{Attempt: 3}, Tally: &heartbeat.Tally{Calls: want, Running: 1}}
			if diff := cmp.Diff(expected, got); err != nil || diff != "" {
				t.Errorf("%v; the beat (-want +got):\n%s", err, diff)
			}
		}
	})
}

// Old and new hosts mix: what one of them left is read by the other, and decides the
// same.
func TestTallyChangesNoDecision(t *testing.T) {
	t.Parallel()
	codec := converter.GetDefaultDataConverter()
	author := heartbeat.Author{Attempt: 1, Host: "1@a", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, marker := range []heartbeat.Marker{heartbeat.MayBeOpen, heartbeat.Opened, heartbeat.Cleared} {
		var decided []heartbeat.Verdict
		for _, details := range [][]any{
			{marker, author},
			{marker, author, heartbeat.Tally{OpenedAt: author.At, Calls: 7}},
			{marker, author, "something of a later release", 4},
		} {
			payloads, err := codec.ToPayloads(details...)
			if err != nil {
				t.Fatal(err)
			}
			// As activity.GetHeartbeatDetails reads them for ReadPast.
			var past heartbeat.Past
			if err := codec.FromPayloads(payloads, &past.Marker, &past.Author); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(heartbeat.Past{Marker: marker, Author: author}, past); diff != "" {
				t.Errorf("%d details are read as (-want +got):\n%s", len(details), diff)
			}
			decided = append(decided, heartbeat.Decide(heartbeat.Facts{InputRunID: "r", RunID: "r", Past: past, RanBefore: true}))
		}
		if decided[0] != decided[1] || decided[0] != decided[2] {
			t.Errorf("%s: decided %+v", marker, decided)
		}
	}
}

// The marker of a beat with a tally is confirmed like one without.
func TestTallyIsConfirmed(t *testing.T) {
	t.Parallel()
	tallied := shown(1, heartbeat.MayBeOpen, func(p *workflowpb.PendingActivityInfo) {
		tally, err := converter.GetDefaultDataConverter().ToPayload(heartbeat.Tally{})
		if err != nil {
			t.Error(err)
		}
		p.HeartbeatDetails.Payloads = append(p.HeartbeatDetails.Payloads, tally)
	})
	m := &mockDescriber{answers: []func() (*workflowpb.PendingActivityInfo, error){tallied}}
	info := activity.Info{ActivityID: "5", Attempt: 1, ScheduledTime: scheduled}
	if _, err := heartbeat.Confirm(t.Context(), m.describe, info, heartbeat.MayBeOpen); err != nil {
		t.Error(err)
	}
}

func TestReadBeat(t *testing.T) {
	t.Parallel()
	codec := converter.GetDefaultDataConverter()
	author := heartbeat.Author{Attempt: 1}
	for name, test := range map[string]struct {
		details []any
		want    heartbeat.Beat
		bad     bool
	}{
		"none":                 {nil, heartbeat.Beat{}, false},
		"of an older release":  {[]any{heartbeat.Opened, author}, heartbeat.Beat{Marker: heartbeat.Opened, Author: author}, false},
		"of a later release":   {[]any{heartbeat.Opened, author, heartbeat.Tally{Calls: 1}, "x"}, heartbeat.Beat{Marker: heartbeat.Opened, Author: author, Tally: &heartbeat.Tally{Calls: 1}}, false},
		"an unknown marker":    {[]any{"mcp-session-asleep", author}, heartbeat.Beat{}, true},
		"of another's purpose": {[]any{map[string]int{"progress": 1}}, heartbeat.Beat{}, true},
	} {
		payloads, err := codec.ToPayloads(test.details...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := heartbeat.ReadBeat(codec, payloads)
		if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != test.bad {
			t.Errorf("%s: error %v; (-want +got):\n%s", name, err, diff)
		}
	}
	payloads := &commonpb.Payloads{Payloads: []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("binary/encrypted")}}}}
	if got, err := heartbeat.ReadBeat(codec, payloads); err == nil {
		t.Errorf("encrypted details were read as %+v", got)
	}
}
