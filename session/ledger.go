package session

import (
	"context"
	"encoding/json"
	"sync"
)

// ledgerBytes is how many bytes of results a session keeps for retries.
const ledgerBytes = 16 << 20

// A ledger is what a session knows of its operations, by activity ID: the reason
// why no tool runs twice for one call. An ID that it does not know has never been
// begun here or was reopened, since it forgets none; what it may drop is a result, for which it
// keeps a tombstone. Temporal bounds the activities of a run, and with them the
// IDs.
type ledger struct {
	mu      sync.Mutex
	entries map[string]*entry
	sent    map[string]int // how often, of those that were reopened
	kept    []*entry       // finished ones with a result, oldest first
	bytes   int
	limit   int
}

// An entry is one operation.
type entry struct {
	done   chan struct{} // closed when outcome is there
	cancel context.CancelCauseFunc
	sends  int // how often the request was sent, this time included

	mu      sync.Mutex
	outcome outcome
}

// An outcome is what an operation came to.
type outcome struct {
	value        json.RawMessage // the MCP result; nil with err, and once forgotten
	toolsChanged bool
	err          error
	again        bool // err does not end what may be sent again
	size         int  // of value, also once it is forgotten
	forgotten    bool // the value was dropped
}

func newLedger(limit int) *ledger {
	return &ledger{entries: make(map[string]*entry), sent: make(map[string]int), limit: limit}
}

// begin returns the entry of an operation, and whether this call made it: then
// the caller runs the operation and gives its outcome to finish.
func (l *ledger) begin(activityID string, cancel context.CancelCauseFunc) (e *entry, begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.entries[activityID]; ok {
		return e, false
	}
	e = &entry{done: make(chan struct{}), cancel: cancel, sends: l.sent[activityID] + 1}
	l.entries[activityID] = e
	return e, true
}

// reopen lets an operation begin anew that has come to an outcome which does not
// end it, and may be sent once more.
func (l *ledger) reopen(activityID string, maxSends int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.entries[activityID]; ok && e.mayRepeat(maxSends) {
		l.sent[activityID] = e.sends
		delete(l.entries, activityID)
	}
}

// mayRepeat reports whether the operation has come to such an outcome.
func (e *entry) mayRepeat(maxSends int) bool {
	return isClosed(e.done) && e.result().again && e.sends < maxSends
}

// finish records what an operation came to, and drops the oldest results while
// there are too many bytes of them. The newest is kept whatever its size is: its
// attempt is about to deliver it.
func (l *ledger) finish(e *entry, o outcome) {
	o.size = len(o.value)
	e.mu.Lock()
	e.outcome = o
	e.mu.Unlock()
	close(e.done)

	l.mu.Lock()
	defer l.mu.Unlock()
	if o.err != nil {
		return
	}
	l.kept = append(l.kept, e)
	l.bytes += o.size
	for l.bytes > l.limit && len(l.kept) > 1 {
		l.bytes -= l.kept[0].forget()
		l.kept[0] = nil
		l.kept = l.kept[1:]
	}
}

// forget drops the entry's result and returns its size.
func (e *entry) forget() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outcome.value = nil
	e.outcome.forgotten = true
	return e.outcome.size
}

// result returns the entry's outcome; only once done is closed.
func (e *entry) result() outcome {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.outcome
}
