package opensessions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpsession/mcpsession/heartbeat"
)

var (
	began  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	opened = began.Add(time.Second)
	heard  = began.Add(time.Minute)
)

func details(t *testing.T, values ...any) *commonpb.Payloads {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(values...)
	if err != nil {
		t.Fatal(err)
	}
	return payloads
}

// What a heartbeat tells goes as far as it can be read, and no further: a session of an
// older host, one whose heartbeats are encrypted and one whose attempt has just begun
// are listed with what is known of them.
func TestSessionOf(t *testing.T) {
	t.Parallel()
	const started = enumspb.PENDING_ACTIVITY_STATE_STARTED
	author := heartbeat.Author{Attempt: 2, Host: "1@a", At: began}
	tally := heartbeat.Tally{Key: "k", OpenedAt: opened, Calls: 7, Running: 1}
	seven, one := int64(7), int64(1)
	encrypted := &commonpb.Payloads{Payloads: []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("binary/encrypted")}}}}
	for name, test := range map[string]struct {
		state   enumspb.PendingActivityState
		attempt int32
		details *commonpb.Payloads
		want    Session
	}{
		"waiting":           {enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, 1, nil, Session{State: Waiting, Host: "2@b", Since: began.Add(-time.Hour), Attempt: 1}},
		"opening":           {started, 2, details(t, heartbeat.MayBeOpen, author, heartbeat.Tally{Key: "k"}), Session{State: Opening, Host: "1@a", Since: began, Attempt: 2, Key: "k", Calls: new(int64), Running: new(int64)}},
		"open":              {started, 2, details(t, heartbeat.Opened, author, tally), Session{State: Open, Host: "1@a", Since: opened, Attempt: 2, Key: "k", Calls: &seven, Running: &one}},
		"of an older host":  {started, 2, details(t, heartbeat.Opened, author), Session{State: Open, Host: "1@a", Since: began, Attempt: 2}},
		"encrypted":         {started, 2, encrypted, Session{State: Unknown, Host: "2@b", Since: heard, Attempt: 2}},
		"another's details": {started, 3, details(t, heartbeat.Cleared, author, tally), Session{State: Opening, Host: "2@b", Since: heard, Attempt: 3}},
		"closing":           {enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED, 2, details(t, heartbeat.Opened, author, tally), Session{State: Closing, Host: "1@a", Since: opened, Attempt: 2, Key: "k", Calls: &seven, Running: &one}},
	} {
		test.want.HeardAt = &heard
		got := sessionOf(&workflowpb.PendingActivityInfo{
			State: test.state, Attempt: test.attempt, HeartbeatDetails: test.details, LastWorkerIdentity: "2@b",
			ScheduledTime: timestamppb.New(began.Add(-time.Hour)), LastStartedTime: timestamppb.New(heard), LastHeartbeatTime: timestamppb.New(heard),
		}, converter.GetDefaultDataConverter())
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestServerOf(t *testing.T) {
	t.Parallel()
	for activityType, want := range map[string]string{
		"mcp.browser.session": "browser", "mcp.browser.call-tool": "", "mcp..session": "", "mcp.a.b.session": "", "session": "",
		"mcp.browser.stateless.call-tool": "", "other.browser.session": "",
	} {
		if got, ok := serverOf(activityType); got != want || ok != (want != "") {
			t.Errorf("%s is of server %q, %v", activityType, got, ok)
		}
	}
}
