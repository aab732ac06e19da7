package transport

import (
	"context"
	"sync/atomic"
)

// A Send tells whether a request may have left for the server. It is how a
// session knows of a call that failed whether its tool can have run.
type Send struct{ began atomic.Bool }

type sendKey struct{}

// TrackSend returns a context under which a [Watched] transport notes that it
// began to write the request. The MCP SDK passes the context of a request on to
// the connection's Write.
func TrackSend(ctx context.Context) (context.Context, *Send) {
	send := new(Send)
	return context.WithValue(ctx, sendKey{}, send), send
}

// Began reports whether any byte of the request may have been written.
func (s *Send) Began() bool { return s.began.Load() }

// SendBegins notes that the request of ctx is about to be written. Connections
// call it first thing in Write; for a context without a [Send] it does nothing.
func SendBegins(ctx context.Context) {
	if send, ok := ctx.Value(sendKey{}).(*Send); ok {
		send.began.Store(true)
	}
}
