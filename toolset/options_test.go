package toolset

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/queue"
)

// The time-out of an attempt must leave the request's own the first word, unless
// the caller says otherwise.
func TestOperationDefaults(t *testing.T) {
	t.Parallel()
	s, err := Options{
		Server:       "s",
		Tools:        map[string]workflow.ActivityOptions{"bounded": {ScheduleToCloseTimeout: time.Hour}},
		ToolTimeouts: map[string]time.Duration{"slow": 5 * time.Minute},
	}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]struct{ startToClose, timeout time.Duration }{
		"any":     {DefaultCallTimeout + 10*time.Second, DefaultCallTimeout},
		"slow":    {5*time.Minute + 10*time.Second, 5 * time.Minute},
		"bounded": {0, DefaultCallTimeout},
	} {
		options, timeout, err := (&Toolset{settings: s}).activity(queue.OperationCallTool, tool)
		if err != nil || options.StartToCloseTimeout != want.startToClose || timeout != want.timeout {
			t.Errorf("%s: start-to-close %v, timeout %v, %v; want %+v", tool, options.StartToCloseTimeout, timeout, err, want)
		}
	}
	session := s.Session
	if session.HeartbeatTimeout != 30*time.Second || session.ScheduleToStartTimeout != 2*time.Minute ||
		session.StartToCloseTimeout != 24*time.Hour || session.RetryPolicy.MaximumAttempts != 3 || !session.WaitForCancellation {
		t.Errorf("session defaults: %+v", session)
	}
}

// What makes no sense is told before anything is scheduled, with the field, the
// value and the remedy.
func TestResolveNamesTheField(t *testing.T) {
	t.Parallel()
	policy := &temporal.RetryPolicy{MaximumAttempts: 1}
	for name, tc := range map[string]struct {
		options Options
		want    []string
	}{
		"no server":          {Options{}, []string{"Options.Server", "empty"}},
		"an @":               {Options{Server: "a@b"}, []string{"Options.Server", `"a@b"`, "'@'"}},
		"argument":           {Options{Server: "s", Argument: make(chan int)}, []string{"Options.Argument", "chan int"}},
		"large argument":     {Options{Server: "s", Argument: strings.Repeat("x", 100), MaxArguments: 10}, []string{"Options.Argument", "102 bytes", "10"}},
		"session activityID": {Options{Server: "s", Session: workflow.ActivityOptions{ActivityID: "mine"}}, []string{"Session.ActivityID", `"mine"`}},
		"activityID":         {Options{Server: "s", Operation: workflow.ActivityOptions{ActivityID: "mine"}}, []string{"Operation", "ActivityID", `"mine"`}},
		"task queue":         {Options{Server: "s", Operation: workflow.ActivityOptions{TaskQueue: "mine"}}, []string{"TaskQueue", `"mine"`, "Session.TaskQueue"}},
		"tool task queue":    {Options{Server: "s", Tools: map[string]workflow.ActivityOptions{"t": {TaskQueue: "mine"}}}, []string{"Tools", `"t"`, "TaskQueue"}},
		"start-to-close":     {Options{Server: "s", Operation: workflow.ActivityOptions{StartToCloseTimeout: time.Second}}, []string{"StartToCloseTimeout", "1s", "1m0s", "CallTimeout"}},
		"tool timeout":       {Options{Server: "s", ToolTimeouts: map[string]time.Duration{"t": -1}}, []string{"ToolTimeouts", `"t"`, "-1ns"}},
		"heartbeat timeout":  {Options{Server: "s", Session: workflow.ActivityOptions{HeartbeatTimeout: time.Millisecond}}, []string{"HeartbeatTimeout", "1ms", "1s"}},
		"call timeout":       {Options{Server: "s", CallTimeout: -1}, []string{"CallTimeout", "-1ns"}},
	} {
		_, err := tc.options.resolve()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not mention %q", name, err, want)
			}
		}
	}
	if _, err := (Options{Server: "s", Operation: workflow.ActivityOptions{RetryPolicy: policy}}).resolve(); err != nil {
		t.Errorf("a retry policy is refused: %v", err)
	}
}

// With's error keeps what the end of a workflow goes by, whatever Close said.
func TestBodyErrorKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	closeErr := temporal.NewApplicationError("closing", "Close")
	body := temporal.NewNonRetryableApplicationError("body", "Mine", nil)
	err := both(body, closeErr)
	var outermost *temporal.ApplicationError
	if outermost, _ = err.(*temporal.ApplicationError); outermost == nil || outermost.Type() != "Mine" || !outermost.NonRetryable() {
		t.Errorf("the body's error became %#v", err)
	}
	if CloseError(err) != closeErr || !strings.Contains(err.Error(), "closing") {
		t.Errorf("the close error is lost in %v", err)
	}
	// Details can't be moved to another error, so one that has them is left alone.
	detailed := temporal.NewApplicationError("body", "Mine", "detail")
	if err := both(detailed, closeErr); err != detailed {
		t.Errorf("an error with details became %v", err)
	}
	if err := both(temporal.NewCanceledError(), closeErr); !temporal.IsCanceledError(err) || CloseError(err) != closeErr {
		t.Errorf("a cancel became %v", err)
	}
	if err := both(nil, closeErr); err != closeErr {
		t.Errorf("without a body's error: %v", err)
	}
	if err := both(body, nil); err != body {
		t.Errorf("without a close error: %v", err)
	}
}
