package heartbeat

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"
)

type acknowledges struct{}

func (acknowledges) RecordActivityHeartbeatWithOptions(context.Context, client.RecordActivityHeartbeatOptions) error {
	return nil
}

// A machine that slept stops the monotonic clock, and with it every timer: when it
// wakes, only the wall clock says that the lease is over. The host must know it
// before it serves anything.
func TestLeaseEndsByTheWallClock(t *testing.T) {
	t.Parallel()
	w := NewWriter(WriterOptions{
		Recorder: acknowledges{},
		Info:     activity.Info{HeartbeatTimeout: time.Hour, WorkflowType: &workflow.Type{}},
		Logger:   log.NewStructuredLogger(nil),
	})
	// Not started: no timer and no beat has a say.
	if !w.Owner() {
		t.Fatal("a new writer's host is not the owner")
	}
	began := time.Now()
	w.now = func() time.Time {
		// The monotonic reading stands still, the wall clock has gone on.
		return began.Round(0).Add(2 * time.Hour)
	}
	if w.Owner() || w.Ended() != LeaseLost {
		t.Errorf("after the machine slept: owner %v, ended %v", w.Owner(), w.Ended())
	}
	w.Stop()
}
