package main

import (
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// A look is what Temporal says of a workflow at a time since the watch began.
type look struct {
	at      time.Duration
	attempt int32 // of the pending workflow task; zero without one
	length  int64
	silent  bool // no answer
	refused bool
}

// What the command makes of a workflow that workers don't get on with.
func TestWatch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		looks []look
		want  verdict
	}{
		"no worker":                  {[]look{{at: 1 * time.Second, attempt: 1, length: 2}, {at: 32 * time.Second, attempt: 1, length: 2}}, notTaken},
		"a slow one that can't":      {[]look{{attempt: 1, length: 3}, {at: untaken - time.Second, attempt: 2, length: 5}, {at: untaken + time.Second, attempt: 2, length: 5}}, notRunnable},
		"a worker that can't":        {[]look{{attempt: 1, length: 3}, {at: time.Second, attempt: 3, length: 3}}, notRunnable},
		"a long call":                {[]look{{attempt: 1, length: 2}, {at: time.Second, length: 9}, {at: time.Hour, length: 9}}, goesOn},
		"one that may not describe":  {[]look{{refused: true}, {at: time.Hour, refused: true}}, goesOn},
		"a busy workflow":            {[]look{{length: 4}, {at: time.Second, attempt: 1, length: 9}, {at: time.Hour, attempt: 1, length: 12}}, goesOn},
		"a worker that is gone":      {[]look{{length: 9}, {at: time.Minute, attempt: 1, length: 11}, {at: 2*time.Minute + time.Second, attempt: 1, length: 11}}, noLongerTaken},
		"gone, and fails ever after": {[]look{{length: 9}, {at: time.Minute, attempt: 1, length: 11}, {at: 2*time.Minute + time.Second, attempt: 7, length: 11}}, noLongerTaken},
		"a worker that comes back":   {[]look{{length: 9}, {at: time.Minute, attempt: 1, length: 11}, {at: 100 * time.Second, length: 14}, {at: time.Hour, attempt: 1, length: 15}}, goesOn},
		"Temporal is gone":           {[]look{{length: 9}, {at: time.Second, silent: true}, {at: 61 * time.Second, silent: true}}, temporalSilent},
		"Temporal comes back":        {[]look{{length: 9}, {at: 59 * time.Second, silent: true}, {at: 60 * time.Second, length: 9}, {at: 100 * time.Second, silent: true}}, goesOn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			w := &watch{patience: untaken, heard: began}
			for i, look := range test.looks {
				want := goesOn
				if i == len(test.looks)-1 {
					want = test.want
				}
				if got := w.see(look.described(), look.silent, began.Add(look.at)); got != want {
					t.Errorf("after %v the verdict is %d, want %d", look.at, got, want)
				}
			}
		})
	}
}

func (l look) described() *workflowservice.DescribeWorkflowExecutionResponse {
	if l.silent || l.refused {
		return nil
	}
	d := &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{HistoryLength: l.length}}
	if l.attempt > 0 {
		d.PendingWorkflowTask = &workflowpb.PendingWorkflowTaskInfo{Attempt: l.attempt}
	}
	return d
}

// People are told what a command waits for.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	activity := func(name, failed string) *workflowpb.PendingActivityInfo {
		a := &workflowpb.PendingActivityInfo{ActivityType: &commonpb.ActivityType{Name: name}, Attempt: 1}
		if failed != "" {
			a.Attempt, a.LastFailure = 2, &failurepb.Failure{Message: failed}
		}
		return a
	}
	for want, pending := range map[string][]*workflowpb.PendingActivityInfo{
		"waiting for a worker": nil,
		"waiting for the server to start (a package runner downloads it the first time)": {activity("mcp.a.session", ""), activity("mcp.a.session-info", "")},
		"waiting for the server to start, attempt 2; the last: no tea":                   {activity("mcp.a.session-info", ""), activity("mcp.a.session", "no tea\nat all")},
		"waiting for the server's answer":                                                {activity("mcp.a.session", ""), activity("mcp.a.call-tool", "")},
	} {
		if got := waitsFor(&workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: pending}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
