package interop

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// testTimeout bounds every row, without its installation: a hang is a failure,
// told by name.
const testTimeout = 5 * time.Minute

// A bundle is what one row has to itself.
type bundle struct {
	*testing.T
	ctx       context.Context
	client    client.Client
	taskQueue string // which is the name of its run, too
	dir       string // for the files of its servers
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	name := strings.ReplaceAll(t.Name(), "/", "-") + "-" + strings.ToLower(rand.Text()[:8])
	return &bundle{T: t, ctx: ctx, client: fixture.Dial(t, ctx, server, nil), taskQueue: name, dir: t.TempDir()}
}

// wantCalls fails the test unless the history has that many calls of tools on a
// block's own task queue, each done by its first attempt.
func (d *driver) wantCalls(taskQueue string, want int) {
	d.Helper()
	calls := make(map[int64]bool)
	done := 0
	events := d.client.GetWorkflowHistory(d.ctx, d.run.GetID(), d.run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			d.Fatal(err)
		}
		scheduled := event.GetActivityTaskScheduledEventAttributes()
		if scheduled.GetTaskQueue().GetName() == taskQueue &&
			scheduled.GetActivityType().GetName() == queue.OperationActivity(serverName, queue.OperationCallTool) {
			calls[event.GetEventId()] = true
		}
		started := event.GetActivityTaskStartedEventAttributes()
		if calls[started.GetScheduledEventId()] && started.GetAttempt() != 1 {
			d.Errorf("a call took %d attempts; the last one had failed: %v", started.GetAttempt(), started.GetLastFailure())
		}
		if calls[event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()] {
			done++
		}
	}
	if len(calls) != want || done != want {
		d.Errorf("the history has %d calls, %d of them completed; want %d", len(calls), done, want)
	}
}
