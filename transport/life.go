package transport

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A life is the start and the end of one server as others see them: the part of
// [Watched] that all transports of this package have in common. It begins with
// one Connect, and ends for the first reason that comes up; later reasons are
// consequences of the first.
type life struct {
	// mu is held by Connect while it starts the server, so that Close knows
	// whether there is one to end.
	mu      sync.Mutex
	used    bool               // Connect was called
	open    bool               // Connect has succeeded
	closing context.Context    // done once Close was called
	close   context.CancelFunc // makes it so

	begin  sync.Once
	ending chan struct{} // closed when the end begins
	asked  bool          // whether Close began it
	fault  error         // what was seen to be wrong when it began otherwise, if anything

	gone     chan struct{} // closed when the server is gone, or given up
	cause    error         // for Cause
	closeErr error         // for Close
}

var errClosed = errors.New("transport: the transport was closed before it connected; call the connector for a new one")

func newLife() *life {
	l := &life{ending: make(chan struct{}), gone: make(chan struct{})}
	l.closing, l.close = context.WithCancel(context.Background())
	return l
}

// connect runs start, which must leave nothing behind when it fails and
// otherwise see to it that gone is closed after ending. Close cancels the
// context of a start that is under way.
func (l *life) connect(ctx context.Context, start func(context.Context) (mcp.Connection, error)) (mcp.Connection, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used {
		return nil, errors.New("transport: Connect was called twice; a transport serves one session, call the connector for another")
	}
	l.used = true

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.closing, func() { cancel(errClosed) })()
	if l.closing.Err() != nil {
		return nil, errClosed
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}

	connection, err := start(ctx)
	if err != nil {
		return nil, err
	}
	l.open = true
	return connection, nil
}

// lose begins the end for a reason of the server's. The fault is nil when there
// is nothing to say beyond the fact.
func (l *life) lose(fault error) {
	l.begin.Do(func() {
		l.fault = fault
		close(l.ending)
	})
}

// Close begins the end because the caller asks for it, and waits for it.
func (l *life) Close() error {
	if !l.ask() {
		return nil
	}
	<-l.gone
	return l.closeErr
}

// ask begins the end because the caller asks for it, and reports whether there is
// a server that can end.
func (l *life) ask() bool {
	l.close()
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	if open {
		l.begin.Do(func() {
			l.asked = true
			close(l.ending)
		})
	}
	return open
}

// Gone implements [Watched].
func (l *life) Gone() <-chan struct{} { return l.gone }

// Cause implements [Watched].
func (l *life) Cause() error {
	select {
	case <-l.gone:
		return l.cause
	default:
		return nil
	}
}
