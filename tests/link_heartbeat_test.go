package tests

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc/codes"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/tests/link"
	"github.com/mcpsession/mcpsession/transport"
)

// A heartbeat goes wrong on its way, and later another one, whichever they are and
// however it happens: the session opens all the same, once, in its first attempt,
// and lives on.
func TestSingleHeartbeatsGoWrong(t *testing.T) {
	t.Parallel()
	for which, tc := range map[string]struct {
		timeout time.Duration
		at      [2]beat
	}{
		"before any marker, and later": {linkHeartbeat, [2]beat{{1, "", 1}, {1, heartbeat.Opened, 2}}},
		// Here a beat may take as long as an attempt has to write its markers.
		"may-be-open, and opened": {longHeartbeat, [2]beat{{1, heartbeat.MayBeOpen, 1}, {1, heartbeat.Opened, 1}}},
	} {
		for how, fault := range map[string]func(l *linked, next <-chan struct{}) link.Fault{
			"delayed past the next":  func(l *linked, next <-chan struct{}) link.Fault { return l.link.Delayed(next, nil) },
			"lost":                   func(*linked, <-chan struct{}) link.Fault { return link.Lost },
			"refused":                func(*linked, <-chan struct{}) link.Fault { return link.Refused(codes.Unavailable) },
			"refused for good":       func(*linked, <-chan struct{}) link.Fault { return link.Refused(codes.InvalidArgument) },
			"applied, then an error": func(*linked, <-chan struct{}) link.Fault { return link.Failed(codes.Unavailable) },
			"answered too late":      func(*linked, <-chan struct{}) link.Fault { return link.Unheard },
		} {
			t.Run(which+" "+how, func(t *testing.T) {
				t.Parallel()
				b := setupFaults(t)
				l := b.linked()
				at := tc.at
				begun := [2]*latch{newLatch(), newLatch()}
				next := [2]*latch{newLatch(), newLatch()} // the heartbeat after it has come
				l.onBeats(func(seen beat) link.Fault {
					for i := range at {
						if seen == at[i] {
							begun[i].open()
							return fault(l, next[i].opened)
						}
					}
					return func(ctx context.Context, _ any, forward link.Forward) (any, error) {
						reply, err := forward(ctx)
						for i := range at {
							if begun[i].isOpen() {
								next[i].open()
							}
						}
						return reply, err
					}
				})
				l.hostFar(worker.Options{}, b.noting(b.onceOpen(begun[0], at[0].Marker == "")))
				d := b.drive(b.options(tc.timeout))
				block := d.open()
				block.must(fixture.Incr)
				b.wait(next[1], "the heartbeat after the second one that went wrong")
				d.wantMarker(heartbeat.Opened)
				if attempt := d.sessionActivity().GetAttempt(); attempt != 1 {
					t.Errorf("attempt %d of the session activity runs", attempt)
				}
				block.wantCounter(1)
				if err := block.close(); err != nil {
					t.Error(err)
				}
				b.wantServerGone()
				b.wantConnects("here")
				b.wantOpens(1)
			})
		}
	}
}

// An old heartbeat reaches the server after the session opened, and stays there
// since the host is cut off right then. The next attempt opens nothing, whether it
// finds the old marker or none at all; the old host closes its server by itself.
func TestDelayedHeartbeatAfterOpened(t *testing.T) {
	t.Parallel()
	const timeout = 15 * time.Second // for what comes between the last beat and the cut
	for name, tc := range map[string]struct {
		marker heartbeat.Marker
		reason failure.Reason
		says   string
	}{
		"may-be-open": {heartbeat.MayBeOpen, failure.ReasonHostLost, "attempt 1 on far"},
		"no marker":   {"", failure.ReasonReset, "left no trace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			l := b.linked()
			begun, release := newLatch(), newLatch()
			var deaf atomic.Bool
			l.onBeats(func(seen beat) link.Fault {
				switch {
				case seen == beat{1, tc.marker, 1}:
					begun.open()
					return l.link.Delayed(release.opened, nil)
				case deaf.Load():
					return link.Lost
				}
				return nil
			})
			l.hostFar(worker.Options{Identity: "far", MaxConcurrentActivityExecutionSize: 1}, b.noting(b.onceOpen(begun, tc.marker == "")))
			d := b.drive(b.options(timeout))
			block, err := d.step("wire-open", wireOpening{
				TaskQueue: d.hosts(), Key: "key", Heartbeat: timeout, Backoff: time.Second,
			}).block()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := block.wireCall(fixture.Incr, testTimeout).text(); err != nil {
				t.Fatal(err)
			}
			d.wantMarker(heartbeat.Opened)
			l.awaitMoreBeats(1)
			deaf.Store(true)
			release.open()
			d.wantMarker(tc.marker)
			l.link.Cut()
			b.host(worker.Options{Identity: "near"}, session.Options{Servers: []session.Server{b.noting(ownedFixture(b.taskQueue))}})
			b.wantServerGone()
			err = d.wireEnd()
			b.wantLoss(err, tc.reason, "")
			mentions(t, err.Error(), tc.says)
			b.wantOpens(1)
		})
	}
}

// onceOpen is the fixture whose connector waits for the latch, if it has to.
func (b *bundle) onceOpen(begun *latch, waits bool) transport.Connector {
	connect := ownedFixture(b.taskQueue)
	return func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		if waits {
			b.wait(begun, "a heartbeat before any marker")
		}
		return connect(ctx, arg)
	}
}

// A may-be-open that was delayed for long reaches the server after the attempt has
// said that it holds no session: the next attempt refuses, which is needless and
// safe. The block is told that it may be opened again, and then opens.
func TestDelayedMayBeOpenAfterCleared(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	l := b.linked()
	release, arrived, ended := newLatch(), newLatch(), new(sync.Once)
	l.onBeats(func(seen beat) link.Fault {
		if seen == (beat{1, heartbeat.MayBeOpen, 1}) {
			return l.link.Delayed(release.opened, func(err error) {
				if err != nil {
					t.Errorf("the delayed marker: %v", err)
				}
				arrived.open()
			})
		}
		return nil
	})
	d := b.drive(b.options(longHeartbeat))
	// The attempt's end waits until the marker has come.
	l.link.Put(link.Fail, func(ctx context.Context, _ any, forward link.Forward) (any, error) {
		ended.Do(func() {
			d.wantMarker(heartbeat.Cleared)
			release.open()
			b.wait(arrived, "the delayed marker")
			d.wantMarker(heartbeat.MayBeOpen)
		})
		return forward(ctx)
	})
	l.hostFar(worker.Options{}, b.noting(inTurn(bring(refusing{errors.New("no licence is free")}), ownedFixture(b.taskQueue))))
	_, err := d.tryOpen()
	if !failure.IsOpen(err) || failure.RanOf(err) != failure.RanNo {
		t.Errorf("the block failed to open with %v", err)
	}
	b.wantLoss(err, failure.ReasonHostLost, "")
	b.wantConnects("here")
	b.wantOpens(0)

	block := d.open()
	block.wantCounter(0)
	if err := block.close(); err != nil {
		t.Error(err)
	}
	b.wantOpens(1)
}

// A marker is never acknowledged: the attempt opens no session that could be
// another's, and the block is told that it may be opened again, if no later
// attempt opened it. None leaves a server behind.
func TestMarkerIsNeverAcknowledged(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		marker        heartbeat.Marker
		fault         link.Fault
		timeout       time.Duration
		connectFails  bool
		reason        failure.Reason // none: a later attempt opens
		connects      int            // until the block is open, or has failed to
		serversBefore int            // that were started until then
	}{
		"may-be-open is lost":                      {heartbeat.MayBeOpen, link.Lost, linkHeartbeat, false, "", 2, 1},
		"may-be-open is refused, slowly":           {heartbeat.MayBeOpen, link.Refused(codes.Unavailable), longHeartbeat, false, "", 2, 1},
		"may-be-open is applied, and not answered": {heartbeat.MayBeOpen, link.Unheard, linkHeartbeat, false, failure.ReasonHostLost, 1, 0},
		"opened is lost":                           {heartbeat.Opened, link.Lost, linkHeartbeat, false, failure.ReasonHostLost, 1, 1},
		"opened is applied, and not answered":      {heartbeat.Opened, link.Unheard, linkHeartbeat, false, failure.ReasonHostLost, 1, 1},
		"opened is refused, slowly":                {heartbeat.Opened, link.Refused(codes.Unavailable), longHeartbeat, false, failure.ReasonHostLost, 1, 1},
		"cleared is lost":                          {heartbeat.Cleared, link.Lost, linkHeartbeat, true, failure.ReasonHostLost, 1, 0},
		"cleared is applied, and not answered":     {heartbeat.Cleared, link.Unheard, linkHeartbeat, true, "", 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			l := b.linked()
			l.onBeats(func(seen beat) link.Fault {
				if seen.Try == 1 && seen.Marker == tc.marker {
					return tc.fault
				}
				return nil
			})
			connect := ownedFixture(b.taskQueue)
			if tc.connectFails {
				connect = inTurn(bring(refusing{errors.New("no licence is free")}), connect)
			}
			l.hostFar(worker.Options{}, b.noting(connect))
			d := b.drive(b.options(tc.timeout))
			began := time.Now()
			block, err := d.tryOpen()
			b.toldAfter(began, "the block was open, or not")
			if n := len(b.connects()); n != tc.connects {
				t.Errorf("the connector was run %d times, want %d", n, tc.connects)
			}
			b.wantOpens(tc.serversBefore)
			if tc.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
			} else {
				if !failure.IsOpen(err) || failure.RanOf(err) != failure.RanNo {
					t.Errorf("the block failed to open with %v", err)
				}
				b.wantLoss(err, tc.reason, "")
				b.wantServerGone()
				block = d.open()
				b.wantOpens(tc.serversBefore + 1)
			}
			block.must(fixture.Incr)
			block.wantCounter(1)
			if err := block.close(); err != nil {
				t.Error(err)
			}
			b.wantServerGone()
		})
	}
}
