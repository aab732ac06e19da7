package crash

import (
	"strings"
	"sync"
	"testing"
)

// A ledger is the account of all rows: what their servers have noted.
type ledger struct {
	mu    sync.Mutex
	rows  int
	calls int      // how many should have run
	notes []string // all rows' together

	failed bool // a row has, so that nobody knows how many calls should have run
}

// add adds what the servers of a row have noted, and how many calls that should
// be. A row that has failed counts, too.
func (l *ledger) add(t *testing.T, notes []string, calls int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows++
	l.calls += calls
	l.failed = l.failed || t.Failed()
	for _, note := range notes {
		// A block is one of its row.
		fields := strings.SplitN(note, " ", 3)
		if len(fields) != 3 {
			t.Errorf("the note %q makes no sense", note)
			continue
		}
		l.notes = append(l.notes, fields[0]+" "+t.Name()+"\x00"+fields[1]+" "+fields[2])
	}
}

// check checks the sum over all rows by the word of the servers alone: no call ran
// twice, and none was served by a session that was not opened for its block, or
// that served another block.
func (l *ledger) check(t *testing.T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	opened := make(map[string]string) // the block that each session was opened for
	served := make(map[string]string) // the session that each call was served by
	sessionOf := make(map[string]string)
	for _, note := range l.notes {
		switch fields := strings.Fields(note); fields[0] {
		case noteInitialize:
			block, session := fields[1], fields[2]
			if opened[session] != "" {
				t.Errorf("the session %s was opened twice: for %q and %q", session, opened[session], block)
			}
			opened[session] = block
		case noteCall:
			block, session, call := fields[1], fields[2], fields[3]
			if by, twice := served[call]; twice {
				t.Errorf("the call %s ran twice: in the sessions %s and %s", call, by, session)
			}
			served[call] = session
			if opened[session] != block || !strings.HasSuffix(call, "/"+block[strings.IndexByte(block, 0)+1:]) {
				t.Errorf("the call %s was served by a session of %q", call, opened[session])
			}
			if before, ok := sessionOf[block]; ok && before != session {
				t.Errorf("the block %q was served by the sessions %s and %s", block, before, session)
			}
			sessionOf[block] = session
		}
	}
	if len(served) != l.calls && !l.failed {
		t.Errorf("%d calls have run, want %d", len(served), l.calls)
	}
	t.Logf("%d rows, %d sessions, %d calls", l.rows, len(opened), len(served))
}
