package transporttest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/mcpsession/mcpsession/transport"
)

// A connector holds nothing until Connect: it may be called for nothing.
func tryNothingBeforeConnect(t *testing.T, subject Subject) {
	subject.transport(t) // failOnLeak looks for what it has left
	if subject.Opened != nil && subject.Opened() != 0 {
		t.Errorf("the connector has opened %d sessions", subject.Opened())
	}
}

// A Connect whose context is done starts nothing.
func tryConnectWhenDone(t *testing.T, subject Subject) {
	over := subject.transport(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := over.Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Connect returned %v", err)
	}
	if subject.Opened != nil && subject.Opened() != 0 {
		t.Errorf("Connect has opened %d sessions", subject.Opened())
	}
	expectNotGone(t, over)
}

// A transport serves one session.
func tryConnectTwice(t *testing.T, subject Subject) {
	session, server := subject.watched(t)
	if _, err := server.Connect(t.Context()); err == nil {
		t.Error("a second Connect succeeded")
	}
	mustCall[counted](t, session, "incr", nil)
}

// The close of the MCP session ends the server, which is no loss.
func trySessionClose(t *testing.T, subject Subject) {
	session, server := subject.watched(t)
	mustCall[counted](t, session, "incr", nil)
	expectNotGone(t, server)
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	receive(t, "the close of Gone", server.Gone())
	if err := server.Cause(); err != nil {
		t.Errorf("after a close that was asked for, Cause is %q", err)
	}
}

// Close before Connect is safe, and final.
func tryCloseBeforeConnect(t *testing.T, subject Subject) {
	over := subject.transport(t)
	server, ok := over.(transport.Watched)
	if !ok {
		t.Skipf("%T is not transport.Watched", over)
	}
	if err := server.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := server.Connect(t.Context()); err == nil {
		t.Error("Connect succeeded after Close")
	}
	if subject.Opened != nil && subject.Opened() != 0 {
		t.Errorf("%d sessions were opened", subject.Opened())
	}
	expectNotGone(t, server)
	if err := server.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// Close may be called many times, at once and from both ends. Whichever returns
// does so when the server is gone.
func tryCloseManyTimes(t *testing.T, subject Subject) {
	session, server := subject.watched(t)
	var closes sync.WaitGroup
	for i := range 8 {
		closes.Go(func() {
			end := server.Close
			if i%2 == 1 {
				end = session.Close
			}
			if err := end(); err != nil {
				t.Errorf("close %d: %v", i, err)
			}
			select {
			case <-server.Gone():
			default:
				t.Errorf("close %d returned before the server was gone", i)
			}
		})
	}
	closes.Wait()
	if err := server.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

// Close does not wait for a call in flight: it ends it.
func tryCloseEndsCall(t *testing.T, subject Subject) {
	session, server := subject.watched(t)
	failed := startWait(t.Context(), t, session)
	closed := make(chan error, 1)
	go func() { closed <- server.Close() }()
	if err := receive(t, "the end of Close", closed); err != nil {
		t.Errorf("close: %v", err)
	}
	receive(t, "the error of the call in flight", failed)
	receive(t, "the close of Gone", server.Gone())
	if err := server.Cause(); err != nil {
		t.Errorf("after a close that was asked for, Cause is %q", err)
	}
}

func expectNotGone(t *testing.T, over any) {
	t.Helper()
	server, ok := over.(transport.Watched)
	if !ok {
		return
	}
	select {
	case <-server.Gone():
		t.Errorf("Gone is closed; the cause: %v", server.Cause())
	default:
	}
	if err := server.Cause(); err != nil {
		t.Errorf("Cause before the end is %q", err)
	}
}
