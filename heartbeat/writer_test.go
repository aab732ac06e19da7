package heartbeat_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/heartbeat"
)

const timeout = 30 * time.Second

// A mockServer answers heartbeats as a test says; a real one can't be made to be
// late, deaf or of another opinion at a chosen beat.
type mockServer struct {
	mu      sync.Mutex
	answer  func(n int) error
	markers []heartbeat.Marker // one a beat, in order; empty without details
	at      []time.Time
}

func (m *mockServer) RecordActivityHeartbeatWithOptions(ctx context.Context, options client.RecordActivityHeartbeatOptions) error {
	m.mu.Lock()
	var marker heartbeat.Marker
	if len(options.Details) > 0 {
		marker = options.Details[0].(heartbeat.Marker)
	}
	m.markers = append(m.markers, marker)
	m.at = append(m.at, time.Now())
	n, answer := len(m.markers), m.answer
	m.mu.Unlock()
	if answer == nil {
		return nil
	}
	if err := answer(n); !errors.Is(err, errSilent) {
		return err
	}
	<-ctx.Done()
	// As the gRPC client does: it is not errors.Is(context.DeadlineExceeded).
	return serviceerror.NewDeadlineExceeded("context deadline exceeded")
}

func (m *mockServer) seen() []heartbeat.Marker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]heartbeat.Marker(nil), m.markers...)
}

var errSilent = errors.New("no answer")

func newWriter(m *mockServer) *heartbeat.Writer {
	return heartbeat.NewWriter(heartbeat.WriterOptions{
		Recorder: m, Info: activity.Info{HeartbeatTimeout: timeout, WorkflowType: &workflow.Type{}}, Author: heartbeat.Author{Attempt: 1}, Logger: quiet{},
	})
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// Every beat after a mark carries it: one without details would erase the marker
// on the server.
func TestEveryBeatCarriesTheMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mockServer{}
		w := newWriter(m)
		w.Start()
		defer w.Stop()
		time.Sleep(timeout)
		synctest.Wait()
		for i, marker := range m.seen() {
			if marker != "" {
				t.Errorf("beat %d before any mark carries %q", i, marker)
			}
		}
		if err := w.Mark(t.Context(), heartbeat.MayBeOpen); err != nil {
			t.Fatal(err)
		}
		before := len(m.seen())
		time.Sleep(2 * timeout)
		synctest.Wait()
		after := m.seen()[before:]
		if len(after) < 4 {
			t.Fatalf("%d beats in two timeouts", len(after))
		}
		for i, marker := range after {
			if marker != heartbeat.MayBeOpen {
				t.Errorf("beat %d carries %q", i, marker)
			}
		}
	})
}

// Mark returns only when the server has acknowledged the marker, and goes on
// trying until its context is done.
func TestMarkWaitsForTheAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mockServer{answer: func(n int) error {
			if n < 3 {
				return serviceerror.NewUnavailable("not yet")
			}
			return nil
		}}
		w := newWriter(m)
		w.Start()
		defer w.Stop()
		if err := w.Mark(t.Context(), heartbeat.Opened); err != nil {
			t.Fatal(err)
		}
		if n := len(m.seen()); n != 3 {
			t.Errorf("Mark returned after %d beats, want 3", n)
		}

		m.answer = func(int) error { return errSilent }
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := w.Mark(ctx, heartbeat.Cleared); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Mark without an answer: %v", err)
		}
	})
}

// The lease ends a heartbeat timeout after the last acknowledged beat was sent,
// however many were sent in vain since, and an acknowledgement that comes later
// does not bring it back.
func TestLeaseEndsWithoutAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mockServer{}
		w := newWriter(m)
		w.Start()
		defer w.Stop()
		if err := w.Mark(t.Context(), heartbeat.Opened); err != nil {
			t.Fatal(err)
		}
		acknowledged := time.Now()
		m.mu.Lock()
		m.answer = func(int) error { return errSilent }
		m.mu.Unlock()
		<-w.Done()
		if passed := time.Since(acknowledged); passed != timeout {
			t.Errorf("the lease ended %v after the acknowledged beat, want %v", passed, timeout)
		}
		if w.Ended() != heartbeat.LeaseLost || w.Owner() {
			t.Errorf("ended %v, owner %v", w.Ended(), w.Owner())
		}
		if err := w.Mark(t.Context(), heartbeat.Opened); !errors.Is(err, heartbeat.ErrStopped) {
			t.Errorf("Mark after the lease: %v", err)
		}
	})
}

// A marker whose first beat gets no answer is sent again while Mark has time.
func TestMarkIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mockServer{answer: func(n int) error {
			if n == 1 {
				return errSilent
			}
			return nil
		}}
		w := newWriter(m)
		w.Start()
		defer w.Stop()
		ctx, cancel := context.WithTimeout(t.Context(), timeout/3)
		defer cancel()
		if err := w.Mark(ctx, heartbeat.Opened); err != nil {
			t.Errorf("after %d beats: %v", len(m.seen()), err)
		}
	})
}

// A beat that gets no answer is followed by another before the lease ends: it takes
// more than one to lose a session.
func TestOneBeatWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mockServer{answer: func(n int) error {
			if n%2 == 0 {
				return errSilent
			}
			return nil
		}}
		w := newWriter(m)
		w.Start()
		defer w.Stop()
		if err := w.Mark(t.Context(), heartbeat.Opened); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * timeout)
		synctest.Wait()
		if w.Ended() != heartbeat.NotEnded || !w.Owner() {
			t.Errorf("ended %v, owner %v, after %d beats", w.Ended(), w.Owner(), len(m.seen()))
		}
	})
}

// What the server answers decides how ownership ends. A pause does not end it,
// and after a cancel the host goes on to beat until it has closed its session.
func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		end    heartbeat.End
		owner  bool
		beats  bool // whether beats go on
	}{
		"paused":    {activity.ErrActivityPaused, heartbeat.NotEnded, true, true},
		"cancel":    {temporal.NewCanceledError(), heartbeat.CancelRequested, true, true},
		"reset":     {activity.ErrActivityReset, heartbeat.Reset, false, false},
		"not found": {serviceerror.NewNotFound("workflow execution already completed"), heartbeat.NotFound, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &mockServer{answer: func(int) error { return tc.answer }}
				w := newWriter(m)
				w.Start()
				defer w.Stop()
				err := w.Mark(t.Context(), heartbeat.Opened)
				if (err == nil) != tc.owner {
					t.Errorf("Mark: %v", err)
				}
				if w.Ended() != tc.end || w.Owner() != tc.owner {
					t.Errorf("ended %v, owner %v", w.Ended(), w.Owner())
				}
				before := len(m.seen())
				time.Sleep(3 * timeout)
				synctest.Wait()
				if on := len(m.seen()) > before; on != tc.beats {
					t.Errorf("beats go on: %v, want %v", on, tc.beats)
				}
			})
		})
	}
}

// A cancel can be followed by the loss of ownership, which counts.
func TestCancelThenNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mockServer{answer: func(n int) error {
			if n == 1 {
				return temporal.NewCanceledError()
			}
			return serviceerror.NewNotFound("gone")
		}}
		w := newWriter(m)
		w.Start()
		defer w.Stop()
		<-w.Done()
		time.Sleep(timeout)
		synctest.Wait()
		if w.Ended() != heartbeat.NotFound || w.Owner() {
			t.Errorf("ended %v, owner %v", w.Ended(), w.Owner())
		}
	})
}

// Stop may be called at any time and as often as one likes, and returns with no
// goroutine left, which synctest checks.
func TestStop(t *testing.T) {
	for name, f := range map[string]func(w *heartbeat.Writer){
		"before start": func(w *heartbeat.Writer) { w.Stop(); w.Start() },
		"twice":        func(w *heartbeat.Writer) { w.Start(); w.Stop() },
		"in a mark": func(w *heartbeat.Writer) {
			w.Start()
			go func() { _ = w.Mark(context.Background(), heartbeat.Opened) }()
			time.Sleep(time.Second)
		},
		"from many": func(w *heartbeat.Writer) {
			w.Start()
			for range 10 {
				go w.Stop()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWriter(&mockServer{answer: func(int) error { return errSilent }})
				f(w)
				w.Stop()
				if err := w.Mark(t.Context(), heartbeat.Opened); !errors.Is(err, heartbeat.ErrStopped) {
					t.Errorf("Mark after Stop: %v", err)
				}
			})
		})
	}
}
