package session

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
)

// A mockRecorder is a Temporal server that knows the attempt no more.
type mockRecorder struct{}

func (mockRecorder) RecordActivityHeartbeatWithOptions(context.Context, client.RecordActivityHeartbeatOptions) error {
	return serviceerror.NewNotFound("no such activity")
}

type silentLogger struct{ log.Logger }

func (silentLogger) Warn(string, ...any) {}

// A call that has waited for its turn asks whether its host is still the owner,
// once the turn is there and before it is sent. Nobody else tells it here, as on a
// host that wakes up and finds the turn before its own timers.
func TestOwnerIsAskedAfterTheWait(t *testing.T) {
	t.Parallel()
	a := &attempt{server: &Server{Name: "counter"}, logger: silentLogger{}}
	a.info = activity.Info{HeartbeatTimeout: time.Minute, WorkflowType: &workflow.Type{}}
	a.writer = heartbeat.NewWriter(heartbeat.WriterOptions{Recorder: mockRecorder{}, Info: a.info, Logger: a.logger})
	a.writer.Start()
	defer a.writer.Stop()
	b := newBlock(context.Background(), a, "instance")
	a.block = b
	b.slots = make(chan struct{}, 1)
	b.slots <- struct{}{} // another call has the only place

	waited := make(chan outcome, 1)
	sent := false
	go func() {
		waited <- b.perform(context.Background(), queue.Operation{}, "tool", func(context.Context) (any, error) {
			sent = true
			return "sent", nil
		})
	}()
	if err := a.writer.Mark(context.Background(), heartbeat.Opened); err == nil || a.writer.Owner() {
		t.Fatalf("the host is the owner still: %v", err)
	}
	<-b.slots // the turn comes
	o := <-waited
	d, lost := failure.DedicatedWorker(o.err)
	if sent || !lost || d.Reason != failure.ReasonHostLost || d.ToolRan != failure.RanNo {
		t.Errorf("the call was sent: %v; it ended with %v, details %+v", sent, o.err, d)
	}
}
