package tests

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A badTransport is one of a user, which nothing is known of. Each of its functions
// stands for one of a transport or its connection, if it is there.
type badTransport struct {
	inner mcp.Transport

	connect func(context.Context) error
	read    func() error
	write   func() error
	close   func() error // beside the inner one's
}

func (b badTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	if b.connect != nil {
		if err := b.connect(ctx); err != nil {
			return nil, err
		}
	}
	conn, err := b.inner.Connect(ctx)
	return badConnection{conn, b}, err
}

type badConnection struct {
	mcp.Connection
	of badTransport
}

func (c badConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if err == nil && c.of.read != nil {
		err = c.of.read()
	}
	return message, err
}

func (c badConnection) Write(ctx context.Context, message jsonrpc.Message) error {
	if c.of.write != nil {
		if err := c.of.write(); err != nil {
			return err
		}
	}
	return c.Connection.Write(ctx, message)
}

func (c badConnection) Close() error {
	if c.of.close == nil {
		return c.Connection.Close()
	}
	return errors.Join(c.Connection.Close(), c.of.close())
}

// bad is a connector of the fixture over a bad transport.
func bad(with badTransport) transport.Connector {
	inner := transport.InMemory(func(transport.Argument) *mcp.Server { return fixture.New() })
	return func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		var err error
		// Only its own methods are seen, so that it isn't a transport.Watched.
		with.inner, err = inner(ctx, arg)
		return with, err
	}
}

// A transport that panics, in any of its functions, ends its own session at most:
// the worker lives on, and another session beside it goes on.
func TestTransportPanics(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		with func(armed *atomic.Bool) badTransport
		late bool // it panics once the session is open
		loss bool // by which the session ends
	}{
		"in Connect": {with: func(armed *atomic.Bool) badTransport {
			return badTransport{connect: func(context.Context) error { return panicIf(armed) }}
		}},
		"in the first Write": {with: func(armed *atomic.Bool) badTransport {
			return badTransport{write: func() error { return panicIf(armed) }}
		}},
		"in the first Read": {with: func(armed *atomic.Bool) badTransport {
			return badTransport{read: func() error { return panicIf(armed) }}
		}},
		"in a later Write": {late: true, loss: true, with: func(armed *atomic.Bool) badTransport {
			return badTransport{write: func() error { return panicIf(armed) }}
		}},
		"in a later Read": {late: true, loss: true, with: func(armed *atomic.Bool) badTransport {
			return badTransport{read: func() error { return panicIf(armed) }}
		}},
		"in Close": {late: true, with: func(armed *atomic.Bool) badTransport {
			return badTransport{close: func() error { return panicIf(armed) }}
		}},
		"in Close of a failed": {with: func(armed *atomic.Bool) badTransport {
			return badTransport{read: func() error { return errIf(armed) }, close: func() error { return panicIf(armed) }}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			var armed atomic.Bool
			sound := bad(badTransport{})
			b.host(worker.Options{}, session.Options{Servers: []session.Server{
				b.counted(inTurn(sound, bad(tc.with(&armed)), sound)),
			}})
			options := b.options(longHeartbeat)
			options.Session.RetryPolicy = attempts(1).RetryPolicy
			d := b.drive(options)
			beside := d.open()
			armed.Store(!tc.late)
			block, err := d.tryOpen()
			switch {
			case !tc.late:
				details, ok := failure.Open(err)
				if !ok || details.ToolRan != failure.RanNo || failure.IsDedicatedWorker(err) {
					t.Errorf("OpenFailure %v, details %+v: %v", ok, details, err)
				}
				if strings.Contains(err.Error(), "own fault") {
					t.Errorf("what it panicked with is told: %v", err)
				}
			case err != nil:
				t.Fatal(err)
			default:
				block.must(fixture.Incr)
				armed.Store(true)
				if tc.loss {
					_, err := block.call(fixture.Incr, nil)
					b.wantLoss(err, failure.ReasonServerGone, failure.RanUnknown)
					mentions(t, err.Error(), "the transport panicked with a string")
					b.wantLoss(block.close(), failure.ReasonServerGone, "")
				} else if err := block.close(); err != nil {
					t.Error(err)
				}
			}
			armed.Store(false)
			beside.must(fixture.Incr)
			beside.wantCounter(1)
			again := d.open()
			again.wantCounter(0)
			for _, k := range []*drivenBlock{beside, again} {
				if err := k.close(); err != nil {
					t.Error(err)
				}
			}
			b.wantConnects("here", "here", "here")
		})
	}
}

func panicIf(armed *atomic.Bool) error {
	if armed.Load() {
		panic("a transport's own fault")
	}
	return nil
}

func errIf(armed *atomic.Bool) error {
	if armed.Load() {
		return errors.New("the connection is broken")
	}
	return nil
}

// A transport that hangs, whatever its context says, holds an attempt or a Close no
// longer than its bound.
func TestTransportHangs(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*latch) badTransport{
		"in Connect": func(released *latch) badTransport {
			return badTransport{connect: func(context.Context) error { <-released.opened; return errors.New("released") }}
		},
		"in Close": func(released *latch) badTransport {
			return badTransport{close: func() error { <-released.opened; return nil }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			released := newLatch()
			b.Cleanup(released.open)
			s := b.counted(inTurn(bad(with(released)), bad(badTransport{})))
			s.ConnectTimeout = shortHeartbeat
			b.host(worker.Options{}, session.Options{Servers: []session.Server{s}})
			options := b.options(longHeartbeat)
			options.Session.RetryPolicy = attempts(1).RetryPolicy
			d := b.drive(options)
			block, err := d.tryOpen()
			if name == "in Connect" {
				details, ok := failure.Open(err)
				if !ok || details.Reason != failure.ReasonConnectTimeout {
					t.Fatalf("OpenFailure %v, details %+v: %v", ok, details, err)
				}
			} else {
				block.must(fixture.Incr)
				// What is wrong is in the log: the session is closed for the workflow.
				if err := block.close(); err != nil {
					t.Error(err)
				}
			}
			if released.isOpen() {
				t.Fatal("the hang was over; this test proves nothing")
			}
			again := d.open()
			again.wantCounter(0)
			if err := again.close(); err != nil {
				t.Error(err)
			}
			b.wantConnects("here", "here")
		})
	}
}
