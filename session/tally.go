package session

import (
	"sync"
	"time"

	"github.com/mcpsession/mcpsession/heartbeat"
)

// A tally counts the tool calls of an attempt's session, for its heartbeats.
type tally struct {
	mu  sync.Mutex
	now heartbeat.Tally
}

// read returns the count as it is.
func (t *tally) read() heartbeat.Tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// of notes whose session it is.
func (t *tally) of(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Key = key
}

// open notes when the session opened.
func (t *tally) open(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.OpenedAt = at
}

// begin counts a call, which ends when the returned function is called. One that is
// sent again was counted.
func (t *tally) begin(resent bool) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !resent {
		t.now.Calls++
	}
	t.now.Running++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.now.Running--
	}
}
