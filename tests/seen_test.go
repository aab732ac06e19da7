package tests

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
)

// A fault is an error as workflow code sees it, in a form that the workflow can
// return. The zero fault is no error.
type fault struct {
	Text     string
	Type     string // of the outermost application error
	Final    bool   // that error is non-retryable
	Canceled bool
	Ran      failure.ToolRan
	Details  failure.Details
}

func faultOf(err error) fault {
	if err == nil {
		return fault{}
	}
	f := fault{Text: err.Error(), Canceled: temporal.IsCanceledError(err), Ran: failure.RanOf(err)}
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		f.Type, f.Final = application.Type(), application.NonRetryable()
	}
	for _, details := range []func(error) (failure.Details, bool){
		failure.DedicatedWorker, failure.Open, failure.Call, failure.SessionClosed,
	} {
		if d, ok := details(err); ok {
			f.Details = d
			break
		}
	}
	return f
}

// A latch is opened once and can be waited for.
type latch struct {
	opened chan struct{}
	once   sync.Once
}

func newLatch() *latch { return &latch{opened: make(chan struct{})} }

func (l *latch) open() { l.once.Do(func() { close(l.opened) }) }

func (l *latch) isOpen() bool {
	select {
	case <-l.opened:
		return true
	default:
		return false
	}
}

// wait returns once the latch is open; the test's own deadline bounds it.
func (b *bundle) wait(l *latch, what string) {
	b.Helper()
	select {
	case <-l.opened:
	case <-b.ctx.Done():
		b.Fatalf("waited in vain for %s", what)
	}
}

// eventually returns once condition holds.
func (b *bundle) eventually(what string, condition func() bool) {
	b.Helper()
	for !condition() {
		select {
		case <-b.ctx.Done():
			b.Fatalf("waited in vain until %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// condition registers an activity that returns once the condition holds, so that
// a workflow can wait for what happens outside of it; see await.
func condition(w worker.Worker, name string, holds func() bool) {
	activityNamed(w, name, func(ctx context.Context) error {
		for !holds() {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
		return nil
	})
}

// await runs an activity of the test's own in a workflow, such as one that waits
// for a condition. It does so after a cancel, too.
func await(ctx workflow.Context, name string, args ...any) error {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: testTimeout})
	return workflow.ExecuteActivity(ctx, name, args...).Get(ctx, nil)
}

// activityNamed registers an activity of the test's own.
func activityNamed(w worker.Worker, name string, function any) {
	w.RegisterActivityWithOptions(function, activity.RegisterOptions{Name: name})
}

// A meeting is an activity that returns once that many workflows have come to it.
type meeting struct {
	size    int32
	arrived atomic.Int32
	all     *latch
}

func newMeeting(size int32) *meeting { return &meeting{size: size, all: newLatch()} }

func (m *meeting) meet(ctx context.Context) error {
	if m.arrived.Add(1) >= m.size {
		m.all.open()
	}
	select {
	case <-m.all.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startAs starts the workflow "test" under an id, of which a test may have several.
func (b *bundle) startAs(id string, args ...any) client.WorkflowRun {
	b.Helper()
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{TaskQueue: b.taskQueue, ID: id}, "test", args...)
	if err != nil {
		b.Fatal(err)
	}
	return run
}

// mentions fails the test unless text has every one of the words, which are what
// a user needs to find in it.
func mentions(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("the error does not mention %q: %s", word, text)
		}
	}
}
