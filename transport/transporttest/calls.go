package transporttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpsession/mcpsession/transport"
)

// A session opens, and its tools can be called.
func tryCall(t *testing.T, subject Subject) {
	session, _ := subject.open(t)
	if got := mustCall[text](t, session, "echo", text{"hello"}).Text; got != "hello" {
		t.Errorf("echo returned %q", got)
	}
}

// Fifty calls that depend on one another meet the same state.
func tryStateIsKept(t *testing.T, subject Subject) {
	session, _ := subject.open(t)
	for want := 1; want <= 50; want++ {
		if got := mustCall[counted](t, session, "incr", nil).Count; got != want {
			t.Fatalf("call %d of incr returned %d", want, got)
		}
	}
}

// Each connect is a session of its own, and the end of one is not another's.
func trySessionsAreSeparate(t *testing.T, subject Subject) {
	first, _ := subject.open(t)
	second, _ := subject.open(t)
	mustCall[counted](t, first, "incr", nil)
	if got := mustCall[counted](t, second, "get", nil).Count; got != 0 {
		t.Errorf("the second session sees the count %d of the first", got)
	}
	if err := first.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if got := mustCall[counted](t, second, "incr", nil).Count; got != 1 {
		t.Errorf("after the close of the first, the second counts %d", got)
	}
}

// Answers reach the call that they belong to.
func tryConcurrentCalls(t *testing.T, subject Subject) {
	session, _ := subject.open(t)
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			want := fmt.Sprintf("call %d", i)
			got, err := call[text](t.Context(), session, "echo", text{want})
			if err != nil || got.Text != want {
				t.Errorf("echo of %q returned %q, %v", want, got.Text, err)
			}
		})
	}
	calls.Wait()
}

// A message of 3 MB arrives whole, both ways.
func tryLargeMessages(t *testing.T, subject Subject) {
	session, _ := subject.open(t)
	want := strings.Repeat("0123456789abcdef", 3<<20/16)
	if got := mustCall[text](t, session, "echo", text{want}).Text; got != want {
		t.Errorf("echo of %d bytes returned %d", len(want), len(got))
	}
}

// A call that is cancelled ends at once, for the server too, and the session
// goes on.
func tryCancelledCall(t *testing.T, subject Subject) {
	session, _ := subject.open(t)
	mustCall[counted](t, session, "incr", nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := startWait(ctx, t, session)
	cancel()
	if err := receive(t, "the error of the cancelled call", failed); !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call returned %v", err)
	}
	until(t, "the server knows of the cancel", func() bool {
		return mustCall[waits](t, session, "waits", nil).Cancelled == 1
	})
	if got := mustCall[counted](t, session, "incr", nil).Count; got != 2 {
		t.Errorf("after the cancelled call the count is %d", got)
	}
}

// A call that was written has begun; one on a connection that is known to be
// dead has not.
func trySendsAreTracked(t *testing.T, subject Subject) {
	session, server := subject.watched(t)
	ctx, send := transport.TrackSend(t.Context())
	if send.Began() {
		t.Error("the send began before the call")
	}
	if _, err := call[counted](ctx, session, "incr", nil); err != nil {
		t.Fatal(err)
	}
	if !send.Began() {
		t.Error("a call that was answered did not begin to be sent")
	}

	subject.lose(t, session)
	receive(t, "the close of Gone", server.Gone())
	ctx, send = transport.TrackSend(t.Context())
	if _, err := call[counted](ctx, session, "incr", nil); err == nil {
		t.Error("a call succeeded after the loss of the server")
	}
	if send.Began() {
		t.Error("a call after the loss of the server began to be sent")
	}
}
