package tests

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc/codes"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/tests/link"
)

// The session activity is handed to a host and never arrives there: the block
// opens on another try, in one session.
func TestSessionIsLostOnItsWay(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	l := b.linked()
	var lost atomic.Int32
	l.link.Put(link.Poll, func(ctx context.Context, request any, forward link.Forward) (any, error) {
		reply, err := forward(ctx)
		if poll, ok := reply.(*workflowservice.PollActivityTaskQueueResponse); ok && err == nil &&
			poll.GetActivityType().GetName() == queue.SessionActivity("counter") && lost.Add(1) <= 2 {
			return link.Refused(codes.Unavailable)(ctx, request, forward)
		}
		return reply, err
	})
	l.hostFar(worker.Options{}, b.noting(ownedFixture(b.taskQueue)))
	d := b.drive(b.options(linkHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	block.wantCounter(1)
	if err := block.close(); err != nil {
		t.Error(err)
	}
	if n := lost.Load(); n != 3 {
		t.Errorf("the session was handed out %d times, want 3", n)
	}
	b.wantServerGone()
	b.wantConnects("here")
	b.wantOpens(1)
}

// The reports of a session's end are lost. If one of them arrives, the block is
// closed. If none does, the server is gone all the same, and Close says what is
// known: nothing was heard of the host.
func TestReportsOfTheEndAreLost(t *testing.T) {
	t.Parallel()
	closing, session := queue.OperationActivity("counter", queue.OperationCloseSession), queue.SessionActivity("counter")
	for name, tc := range map[string]struct {
		lost []string
		told bool // that the session was lost
	}{
		"close-session's": {[]string{closing}, false},
		"the session's":   {[]string{session}, false},
		"both":            {[]string{closing, session}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			l := b.linked()
			l.link.Put(link.Complete, func(ctx context.Context, request any, forward link.Forward) (any, error) {
				token := request.(*workflowservice.RespondActivityTaskCompletedRequest).GetTaskToken()
				if slices.Contains(tc.lost, l.link.Task(token).ActivityType) {
					return link.Refused(codes.DeadlineExceeded)(ctx, request, forward)
				}
				return forward(ctx)
			})
			l.hostFar(worker.Options{}, b.noting(ownedFixture(b.taskQueue)))
			d := b.drive(b.options(linkHeartbeat))
			block := d.open()
			block.must(fixture.Incr)
			err := block.close()
			b.wantServerGone()
			if tc.told {
				b.wantLoss(err, failure.ReasonHostLost, "")
			} else if err != nil {
				t.Error(err)
			}
			again := d.open()
			again.wantCounter(0)
			b.wantConnects("here", "here")
			b.wantOpens(2)
		})
	}
}
