package transporttest

import "testing"

// The loss of an idle server is noticed without a call, and has a cause.
func tryLoss(t *testing.T, subject Subject) {
	session, server := subject.watched(t)
	mustCall[counted](t, session, "incr", nil)
	expectNotGone(t, server)
	subject.lose(t, session)
	receive(t, "the close of Gone", server.Gone())
	if server.Cause() == nil {
		t.Error("the loss of the server has no Cause")
	}
	if _, err := call[counted](t.Context(), session, "get", nil); err == nil {
		t.Error("a call succeeded after the loss of the server")
	}
}

// The loss of the server ends a call in flight.
func tryLossEndsCall(t *testing.T, subject Subject) {
	session, server := subject.watched(t)
	failed := startWait(t.Context(), t, session)
	subject.lose(t, session)
	receive(t, "the error of the call in flight", failed)
	receive(t, "the close of Gone", server.Gone())
	if server.Cause() == nil {
		t.Error("the loss of the server has no Cause")
	}
}

// A close after the loss neither fails nor hides the cause.
func tryLossThenClose(t *testing.T, subject Subject) {
	session, server := subject.watched(t)
	subject.lose(t, session)
	receive(t, "the close of Gone", server.Gone())
	if err := server.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := session.Close(); err != nil {
		t.Errorf("close of the session: %v", err)
	}
	if server.Cause() == nil {
		t.Error("the close has hidden the Cause")
	}
}
