package session

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func finishOne(l *ledger, id string, size int) *entry {
	e, _ := l.begin(id, func(error) {})
	l.finish(e, outcome{value: json.RawMessage(strings.Repeat("x", size))})
	return e
}

// An operation is begun once, whoever asks and however often; that is what keeps
// a tool from running twice.
func TestLedgerBeginsOnce(t *testing.T) {
	t.Parallel()
	l := newLedger(100)
	first, begun := l.begin("5", func(error) {})
	if !begun {
		t.Fatal("a new operation was not begun")
	}
	joined, begun := l.begin("5", func(error) {})
	if begun || joined != first {
		t.Fatal("an operation that runs was begun again")
	}
	l.finish(first, outcome{err: errors.New("failed")})
	if again, begun := l.begin("5", func(error) {}); begun || again.result().err == nil {
		t.Fatal("an operation that failed was begun again")
	}
}

// The bound is of bytes; what falls out of it leaves a tombstone that still
// refuses to begin the operation again and knows its size. The newest result
// stays whatever its size is, since it is about to be delivered.
func TestLedgerForgetsResultsNotOperations(t *testing.T) {
	t.Parallel()
	l := newLedger(100)
	a, b, c := finishOne(l, "a", 60), finishOne(l, "b", 30), finishOne(l, "c", 50)
	if o := a.result(); !o.forgotten || o.value != nil || o.size != 60 {
		t.Errorf("the oldest over the bound: %+v", o)
	}
	if o := b.result(); o.forgotten {
		t.Errorf("one within the bound: %+v", o)
	}
	if o := c.result(); o.forgotten {
		t.Errorf("the newest: %+v", o)
	}
	if _, begun := l.begin("a", func(error) {}); begun {
		t.Error("a forgotten operation was begun again")
	}
	large := finishOne(l, "large", 1000)
	if o := large.result(); o.forgotten || len(o.value) != 1000 {
		t.Errorf("a result over the whole bound: %+v", o)
	}
	if o := b.result(); !o.forgotten {
		t.Error("an older one stays beside a result over the whole bound")
	}
	finishOne(l, "next", 1)
	if o := large.result(); !o.forgotten {
		t.Error("a result over the whole bound outlives the next")
	}
	if l.bytes != 1 || len(l.kept) != 1 {
		t.Errorf("%d bytes of %d results are counted, want 1 of 1", l.bytes, len(l.kept))
	}
}

func TestLedgerUnderConcurrency(t *testing.T) {
	t.Parallel()
	l := newLedger(1000)
	begun := make(chan bool)
	for range 50 {
		go func() {
			_, cancel := context.WithCancelCause(context.Background())
			e, mine := l.begin("same", cancel)
			if mine {
				l.finish(e, outcome{value: json.RawMessage("{}")})
			}
			<-e.done
			begun <- mine
		}()
	}
	n := 0
	for range 50 {
		if <-begun {
			n++
		}
	}
	if n != 1 {
		t.Errorf("begun %d times", n)
	}
}
