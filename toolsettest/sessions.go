package toolsettest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/internal/hostless"
	"github.com/mcpsession/mcpsession/queue"
)

// A Session is a session that was opened in a test.
type Session struct {
	// Server is the server's name, and N the session's number among those of that
	// server, from 1.
	Server string
	N      int
	// WorkflowID is that of the workflow that opened it.
	WorkflowID string
	// Argument is what the workflow passed; empty if that is nothing.
	Argument json.RawMessage
	// OpenedAt is when it opened, on the workflow's clock.
	OpenedAt time.Time
	// Ended is whether it has ended, and Lost why, unless its block closed it.
	Ended bool
	Lost  error
}

// A held is a session that the kit holds.
type held struct {
	kit        *Kit
	server     *server
	info       activity.Info // of the session activity
	engine     hostless.Session
	operations functions
	told       Session
	finished   chan struct{} // closed once the end was told, or is about to be at a time of the workflow's clock

	mu       sync.Mutex
	wire     *wire
	busy     int // operations that have come and have not been answered
	moves    int // of busy, by which a timer knows that it is old
	attempts attempts
	silent   bool // the host is lost: nothing is reported any more
	atOnce   bool // the end is told at once, and not after what is under way
}

// registerSessions registers the activities of a server's sessions.
func (k *Kit) registerSessions(sv *server) {
	k.env.RegisterActivityWithOptions(sv.open, activity.RegisterOptions{Name: queue.SessionActivity(sv.Name)})
	all := make(functions)
	hostless.Register(sv.Name, all)
	for name, f := range all {
		k.env.RegisterActivityWithOptions(k.wrapOperation(name, f), activity.RegisterOptions{Name: name})
	}
}

// open is the session activity. It is pending for as long as the session is open.
func (sv *server) open(ctx context.Context, input queue.SessionInput) (err error) {
	k, info := sv.kit, activity.GetInfo(ctx)
	b := k.block(queue.Name(sv.Name, input.RunID, input.Key))
	defer func() {
		if err != nil {
			b.settle(nil)
		}
	}()
	s := &held{kit: k, server: sv, info: info, operations: make(functions), finished: make(chan struct{})}
	refusal := sv.nextOpening()
	if refusal != nil {
		switch refusal.reason {
		case failure.ReasonNoHost:
			return temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		case failure.ReasonUnknownServer:
			return temporal.NewNonRetryableApplicationError(fmt.Sprintf("there is no activity %s", info.ActivityType.Name), "ActivityNotRegisteredError", nil)
		case failure.ReasonHostLost:
			s.reportHostLost(heartbeat.MayBeOpen)
			return activity.ErrResultPending
		}
	}
	s.engine, err = hostless.Open(k.withClient(ctx), sv.Name, Host, sv.connectSession(s, refusal), input)
	if err != nil {
		return err
	}
	s.engine.Register(s.operations)
	k.mu.Lock()
	sv.sessions++
	s.told = Session{
		Server: sv.Name, N: sv.sessions, WorkflowID: info.WorkflowExecution.ID, Argument: input.Argument, OpenedAt: k.env.Now(),
	}
	k.sessions = append(k.sessions, s)
	k.mu.Unlock()
	go s.finish()
	s.watchClock()
	b.settle(s)
	return activity.ErrResultPending
}

// watchClock sees to the ends that a session comes to by time.
func (s *held) watchClock() {
	const margin = 30 * time.Second // as on a worker
	if left := s.info.Deadline.Sub(s.info.StartedTime); left > 0 {
		s.kit.after(left-min(margin, left/10), func() {
			s.loseNow(failure.ReasonExpired, "the session activity's timeout is about to pass")
		})
	}
	s.move(0)
}

// move counts operations in and out. When there are none, the time begins after which
// the session is idle.
func (s *held) move(by int) {
	s.mu.Lock()
	s.busy += by
	s.moves++
	busy, moves := s.busy, s.moves
	s.mu.Unlock()
	idle := s.server.IdleTimeout
	if idle == 0 || busy > 0 || s.ended() {
		return
	}
	s.kit.after(idle, func() {
		s.mu.Lock()
		still := s.moves == moves
		s.mu.Unlock()
		if still {
			s.loseNow(failure.ReasonIdle, fmt.Sprintf("no operation came for %v", idle))
		}
	})
}

// lose begins the end of the session.
func (s *held) lose(reason failure.Reason, message string) {
	if reason == failure.ReasonHostLost && !s.ended() {
		s.mu.Lock()
		s.silent = true
		s.mu.Unlock()
	}
	s.engine.Lose(reason, message)
	if reason == failure.ReasonServerGone {
		s.mu.Lock()
		w := s.wire
		s.mu.Unlock()
		w.breakOff()
	}
}

// loseNow ends the session from the environment's loop, and returns when that is done,
// so that no time passes meanwhile. What is under way holds the clock by itself, and
// may need the loop to end.
func (s *held) loseNow(reason failure.Reason, message string) {
	if s.attempts.any() {
		s.lose(reason, message)
		return
	}
	s.mu.Lock()
	s.atOnce = true
	s.mu.Unlock()
	s.lose(reason, message)
	<-s.finished
}

func (s *held) ended() bool {
	select {
	case <-s.engine.Ending():
		return true
	default:
		return false
	}
}

func (s *held) isSilent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent
}

// isLost reports, of a session whose end is settled, whether that is a loss.
func (s *held) isLost() bool {
	s.kit.mu.Lock()
	defer s.kit.mu.Unlock()
	return s.told.Lost != nil
}

// finish tells the end of the session activity.
func (s *held) finish() {
	defer close(s.finished)
	err := s.engine.Wait()
	s.attempts.await()
	s.kit.mu.Lock()
	s.told.Ended, s.told.Lost = true, err
	s.kit.mu.Unlock()
	report := func() {
		s.kit.complete(s.info, nil, err)
		s.kit.wake(s.info.WorkflowExecution)
	}
	s.mu.Lock()
	silent, atOnce := s.silent, s.atOnce
	s.mu.Unlock()
	switch {
	case silent:
		s.reportHostLost(heartbeat.Opened)
	case atOnce:
		report()
	default:
		s.kit.after(afterwards, report)
	}
}

// afterwards is when on the workflow's clock the end of a session is told that operations
// have met: the workflow has then what they came to, and what it called next. The clock
// stands while they are under way, or goes as a real one.
const afterwards = time.Second

// reportHostLost lets the session activity time out, as a server does that gets no
// heartbeat any more.
func (s *held) reportHostLost(left heartbeat.Marker) {
	author := heartbeat.Author{Attempt: s.info.Attempt, Host: Host, At: s.kit.env.Now()}
	s.kit.after(s.info.HeartbeatTimeout, func() {
		s.kit.complete(s.info, nil, temporal.NewHeartbeatTimeoutError(left, author))
		s.kit.wake(s.info.WorkflowExecution)
	})
}

// Sessions returns the sessions that were opened, in their order: those of the named
// servers, or of all if none is named.
func (k *Kit) Sessions(servers ...string) []Session {
	k.t.Helper()
	wanted := k.wanted(servers)
	k.mu.Lock()
	sessions := slices.Clone(k.sessions)
	k.mu.Unlock()
	var all []Session
	for _, s := range sessions {
		if s.ended() {
			<-s.finished // soon: nothing of it needs the workflow
		}
		k.mu.Lock()
		told := s.told
		k.mu.Unlock()
		if wanted(told.Server) {
			all = append(all, told)
		}
	}
	return all
}

// AllowOpen lets the test end with sessions that are open, as on a worker sessions end
// with their run: for workflows that are terminated, or time out, in a block.
func (k *Kit) AllowOpen() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mayBeOpen = true
}

func (k *Kit) allowsOpen() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mayBeOpen
}

// checkClosed fails the test for sessions that are open at its end, and closes them.
func (k *Kit) checkClosed() {
	k.t.Helper()
	k.mu.Lock()
	sessions := k.sessions
	k.mu.Unlock()
	for _, s := range sessions {
		if !s.ended() && !k.allowsOpen() {
			k.t.Errorf("toolsettest: session %d of server %q was not closed: workflow %s opened it, and has made %s in it; "+
				"use toolset.With, or call Close on every path", s.told.N, s.told.Server, s.told.WorkflowID, k.count(s))
		}
		s.engine.Lose(failure.ReasonWorkerStopped, "the test has ended")
		<-s.finished
	}
}
