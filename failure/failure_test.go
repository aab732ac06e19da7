package failure_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
)

var details = failure.Details{
	Server: "browser", Reason: failure.ReasonHostLost, ToolRan: failure.RanUnknown, Tool: "click", Attempt: 2,
	Host: "1@a", OpenedAt: time.Date(2026, 7, 28, 1, 2, 3, 0, time.UTC), Peer: "words",
}

// overTheWire is what an error becomes between two processes.
func overTheWire(err error) error {
	c := temporal.GetDefaultFailureConverter()
	return c.FailureToError(c.ErrorToFailure(err))
}

// asActivity wraps an error as the SDK hands it to workflow code.
func asActivity(err error) error {
	c := temporal.GetDefaultFailureConverter()
	return c.FailureToError(&failurepb.Failure{
		Message: "activity error",
		Cause:   c.ErrorToFailure(err),
		FailureInfo: &failurepb.Failure_ActivityFailureInfo{ActivityFailureInfo: &failurepb.ActivityFailureInfo{
			ScheduledEventId: 5, StartedEventId: 6, ActivityId: "5", ActivityType: &commonpb.ActivityType{Name: "mcp.browser.session"},
			RetryState: enumspb.RETRY_STATE_NON_RETRYABLE_FAILURE,
		}},
	})
}

// A failure keeps its type and details through the wire, an activity's error, the
// rewrapping for workflow code, and a child workflow.
func TestFailureKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err     error
		is      func(error) bool
		details func(error) (failure.Details, bool)
	}{
		failure.TypeDedicatedWorker: {failure.New(failure.TypeDedicatedWorker, "lost", details, nil), failure.IsDedicatedWorker, failure.DedicatedWorker},
		failure.TypeOpen:            {failure.New(failure.TypeOpen, "not open", details, nil), failure.IsOpen, failure.Open},
		failure.TypeCall:            {failure.New(failure.TypeCall, "no answer", details, nil), failure.IsCall, failure.Call},
		failure.TypeSessionClosed:   {failure.New(failure.TypeSessionClosed, "closed", details, nil), failure.IsSessionClosed, failure.SessionClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rewrapped := failure.Rewrap(asActivity(tc.err))
			for form, err := range map[string]error{
				"itself": tc.err, "over the wire": overTheWire(tc.err), "an activity's": asActivity(tc.err),
				"rewrapped": rewrapped, "rewrapped, over the wire": overTheWire(rewrapped),
				"wrapped by a user": overTheWire(fmt.Errorf("while browsing: %w", rewrapped)),
			} {
				if !tc.is(err) {
					t.Errorf("%s: not recognised: %v", form, err)
				}
				got, ok := tc.details(err)
				if diff := cmp.Diff(details, got); !ok || diff != "" {
					t.Errorf("%s: details (-want +got):\n%s", form, diff)
				}
				if failure.RanOf(err) != failure.RanUnknown && name != failure.TypeOpen {
					t.Errorf("%s: ran %q", form, failure.RanOf(err))
				}
			}
			// The workflow's own retry policy is free, the activity's was not.
			var activity, outermost *temporal.ApplicationError
			errors.As(tc.err, &activity)
			if outermost, _ = rewrapped.(*temporal.ApplicationError); outermost == nil || outermost.NonRetryable() || !activity.NonRetryable() {
				t.Errorf("retryable: the activity's %v, the workflow's %v", !activity.NonRetryable(), rewrapped)
			}
		})
	}
}

func TestMCPProtocolKeepsCodeAndData(t *testing.T) {
	t.Parallel()
	for _, data := range []json.RawMessage{nil, json.RawMessage(`{"field":"x"}`), json.RawMessage(`[1]`)} {
		err := failure.Rewrap(asActivity(failure.NewMCPProtocol("browser", "no such tool", -32602, data)))
		d, ok := failure.MCPProtocol(overTheWire(err))
		if !ok || d.Code != -32602 || string(d.Data) != string(data) {
			t.Errorf("data %s: %+v, %v", data, d, ok)
		}
		if !strings.Contains(err.Error(), "-32602") || !strings.Contains(err.Error(), "no such tool") || !strings.Contains(err.Error(), "browser") {
			t.Errorf("message: %v", err)
		}
		var application *temporal.ApplicationError
		var code int64
		if !errors.As(err, &application) || application.Details(&code) != nil || code != -32602 {
			t.Errorf("the first detail is not the code: %d", code)
		}
	}
}

func TestResultTooLargeNamesSizeLimitAndRemedy(t *testing.T) {
	t.Parallel()
	want := failure.SizeDetails{Server: "browser", Tool: "screenshot", Size: 3 << 20, Limit: 2 << 20}
	err := overTheWire(failure.Rewrap(asActivity(failure.NewResultTooLarge(want))))
	got, ok := failure.ResultTooLarge(err)
	if !ok || got != want || failure.RanOf(err) != failure.RanYes {
		t.Errorf("%+v, %v, ran %s", got, ok, failure.RanOf(err))
	}
	for _, text := range []string{"browser", "screenshot", "3145728", "2097152", "external payload storage"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not mention %q", err, text)
		}
	}
}

// A failure over the payload limit would never reach the workflow.
func TestPeerTextIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ö", 1<<20)
	for name, err := range map[string]error{
		"peer":    failure.New(failure.TypeDedicatedWorker, "lost", failure.Details{Peer: long}, nil),
		"message": failure.New(failure.TypeDedicatedWorker, long, failure.Details{}, nil),
		"json":    failure.NewMCPProtocol("s", long, 1, json.RawMessage(`"`+long+`"`)),
	} {
		f := temporal.GetDefaultFailureConverter().ErrorToFailure(err)
		if size := f.String(); len(size) > 40<<10 {
			t.Errorf("%s: the failure has %d bytes", name, len(size))
		}
	}
	if clipped := failure.Clip(long, 10); len(clipped) > 10 || !strings.HasSuffix(clipped, "…") || strings.ContainsRune(clipped, '\uFFFD') {
		t.Errorf("Clip gave %q", clipped)
	}
}

func TestOtherErrorsAreLeftAlone(t *testing.T) {
	t.Parallel()
	other := asActivity(temporal.NewApplicationError("other", "Other"))
	if failure.Rewrap(other) != other || failure.IsDedicatedWorker(other) || failure.IsOpen(nil) {
		t.Error("an error that is none of ours was taken for one")
	}
	if failure.RanOf(nil) != failure.RanYes || failure.RanOf(other) != failure.RanUnknown {
		t.Errorf("RanOf: %s, %s", failure.RanOf(nil), failure.RanOf(other))
	}
	// Joined errors keep their type within a process only; still they are found.
	joined := errors.Join(other, failure.New(failure.TypeOpen, "x", details, nil))
	if !failure.IsOpen(joined) {
		t.Error("a joined failure is not found")
	}
}
