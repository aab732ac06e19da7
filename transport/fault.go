package transport

import (
	"context"

	"github.com/mcpsession/mcpsession/failure"
)

// A Fault is what a transport concluded of a request that failed, where it knows
// more than the MCP SDK's error says: that a server answered HTTP 503, say, which
// means that no tool ran and that the session lives.
type Fault struct {
	// Reason says why in a word. [failure.ReasonServerGone] means that the session
	// is lost, and that Gone closes; with all others it lives.
	Reason failure.Reason
	// ToolRan says whether a tool that was called ran.
	ToolRan failure.ToolRan
	// Permanent says that connecting again would come to the same. It means
	// nothing once the session is open.
	Permanent bool
	// Message says what happened and what can be done. It holds no credential.
	Message string
	// Peer is what the server itself said, if anything: bounded, and without the
	// credentials that the transport knows.
	Peer string
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// Fault returns what the transport concluded of the request, or of the last one
// where there were several; nil when that is nothing beyond its error.
func (s *Send) Fault() *Fault { return s.fault.Load() }

// NoteFault notes what a transport concluded of the request of ctx, before the
// request returns. Nil takes back what was concluded of an earlier one; for a
// context without a [Send] it does nothing.
func NoteFault(ctx context.Context, fault *Fault) {
	if send, ok := ctx.Value(sendKey{}).(*Send); ok {
		send.fault.Store(fault)
	}
}

// Sessionless reports whether the handshake ended with a server that has sessions
// to give over this kind of transport and gave none: it keeps no state between
// calls.
func (s *Send) Sessionless() bool { return s.sessionless.Load() }

// NoteSessionless notes for the handshake of ctx whether the server gave no
// session where its transport has them.
func NoteSessionless(ctx context.Context, sessionless bool) {
	if send, ok := ctx.Value(sendKey{}).(*Send); ok {
		send.sessionless.Store(sessionless)
	}
}
