package transport

import (
	"context"
	"sync/atomic"
)

// A Send tells what a transport knows of a request beyond its error: whether it
// may have left for the server, and what became of it. It is how a session knows
// of a call that failed whether its tool can have run.
type Send struct {
	began       atomic.Bool
	fault       atomic.Pointer[Fault]
	sessionless atomic.Bool
}

type sendKey struct{}

// TrackSend returns a context under which a [Watched] transport notes that it
// began to write a call. The MCP SDK passes the context of a call on to the
// connection's Write.
func TrackSend(ctx context.Context) (context.Context, *Send) {
	send := new(Send)
	return context.WithValue(ctx, sendKey{}, send), send
}

// Began reports whether any byte of the call may have been written.
func (s *Send) Began() bool { return s.began.Load() }

// SendBegins notes that the call of ctx is about to be written; for a context
// without a [Send] it does nothing. A transport's connection calls it in Write
// right before the first byte, and for calls only: the SDK sends the notice that
// a call was cancelled under the values of the call's context, also for a call
// that was never written.
func SendBegins(ctx context.Context) {
	if send, ok := ctx.Value(sendKey{}).(*Send); ok {
		send.began.Store(true)
	}
}
