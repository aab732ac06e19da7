package session

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/log"

	"github.com/mcpsession/mcpsession/transport"
)

// A poolBench is a pool of real connections to MCP servers in this process, and an
// account of them.
type poolBench struct {
	*pool
	mu            sync.Mutex
	opened, ended int
	fails         error
	version       string
	gate          chan struct{} // if there is one, openings wait for it to be closed
	hang          chan struct{} // once it is closed, servers answer nothing any more
	over          chan struct{} // until this is
}

func newPoolBench(idle time.Duration, most int) *poolBench {
	b := &poolBench{hang: make(chan struct{}), over: make(chan struct{})}
	server := (Server{Name: "server", Connect: transport.InMemory(func(transport.Argument) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
				if isClosed(b.hang) {
					select {
					case <-ctx.Done():
					case <-b.over: // a notice's context has no end
					}
				}
				return next(ctx, method, request)
			}
		})
		return s
	})}).withDefaults()
	b.pool = newPool(func(ctx context.Context) (*connection, error) {
		if b.gate != nil {
			select {
			case <-b.gate:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		if b.fails != nil {
			return nil, b.fails
		}
		o := &opener{server: server, version: b.version, what: "connection", logger: log.NewStructuredLogger(nil)}
		carrier, err := o.connector(ctx)
		if err != nil {
			return nil, err
		}
		conn, err := o.connect(ctx, carrier)
		if err == nil {
			b.count(&b.opened)
			go func() {
				_ = conn.Wait()
				b.count(&b.ended)
			}()
		}
		return conn, err
	}, idle, most, 0)
	return b
}

func (b *poolBench) count(n *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*n++
}

// want fails the test unless so many connections were opened, and so many of them are
// closed again.
func (b *poolBench) want(t *testing.T, opened, ended int) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != opened || b.ended != ended {
		t.Errorf("%d connections were opened and %d have ended; want %d, %d", b.opened, b.ended, opened, ended)
	}
}

func (b *poolBench) mustTake(t *testing.T) *lease {
	t.Helper()
	l, err := b.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var errTestOver = errors.New("the test is over")

// A connection is closed once it was idle for as long as the pool says, counted from
// its last call: five minutes by default, at once for zero, never for less.
func TestPoolIdle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		idle    *time.Duration
		closes  time.Duration
		forever bool
	}{
		"default":  {nil, DefaultSharedIdleTimeout, false},
		"a minute": {new(time.Minute), time.Minute, false},
		"zero":     {new(time.Duration), 0, false},
		"negative": {new(-time.Second), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				idle := *(Server{SharedIdleTimeout: test.idle}).withDefaults().SharedIdleTimeout
				b := newPoolBench(idle, 1)
				defer b.close(errTestOver)
				l := b.mustTake(t)
				time.Sleep(24 * time.Hour) // a call that takes long is no idleness
				b.want(t, 1, 0)
				b.giveBack(l, false)
				if test.forever {
					time.Sleep(1000 * time.Hour)
					b.want(t, 1, 0)
					return
				}
				if test.closes > 0 {
					time.Sleep(test.closes - time.Millisecond)
					b.want(t, 1, 0)
					b.giveBack(b.mustTake(t), false) // which begins the time anew
					time.Sleep(test.closes - time.Millisecond)
					b.want(t, 1, 0)
					time.Sleep(2 * time.Millisecond)
				}
				b.want(t, 1, 1)
				b.giveBack(b.mustTake(t), false)
				b.want(t, 2, 1+btoi(test.closes == 0))
			})
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Who comes while a connection is being opened waits for that one, and gets its error;
// a caller that leaves does not end it for the others.
func TestPoolOpensOnce(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]error{"succeeds": nil, "fails": errors.New("no server")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newPoolBench(time.Minute, 1)
				defer b.close(errTestOver)
				b.gate, b.fails = make(chan struct{}), fails
				leaving, leave := context.WithCancel(t.Context())
				left := make(chan error, 1)
				go func() {
					_, err := b.take(leaving)
					left <- err
				}()
				synctest.Wait()
				var got [10]error
				var waiting sync.WaitGroup
				for i := range got {
					waiting.Go(func() {
						l, err := b.take(t.Context())
						if got[i] = err; err == nil {
							b.giveBack(l, false)
						}
					})
				}
				synctest.Wait()
				leave()
				if err := <-left; !errors.Is(err, context.Canceled) {
					t.Errorf("who left got %v", err)
				}
				close(b.gate)
				waiting.Wait()
				for _, err := range got {
					if !errors.Is(err, fails) {
						t.Errorf("a caller got %v, want %v", err, fails)
					}
				}
				b.want(t, 1-btoi(fails != nil), 0)
			})
		})
	}
}

// A connection that is given back as broken is given to nobody else, and closed once
// its last user has left it.
func TestPoolRetires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newPoolBench(time.Minute, 1)
		defer b.close(errTestOver)
		first, second := b.mustTake(t), b.mustTake(t)
		if first.connection != second.connection || first.reused || !second.reused {
			t.Fatal("two calls at once do not share the connection")
		}
		b.giveBack(first, true)
		b.want(t, 1, 0)
		third := b.mustTake(t)
		if third.connection == second.connection {
			t.Error("a connection that is known to be broken was given out")
		}
		b.want(t, 2, 0)
		b.giveBack(second, false)
		b.want(t, 2, 1)
		b.giveBack(third, false)
		b.want(t, 2, 1)
		_ = third.ClientSession.Close() // its server goes away
		b.want(t, 2, 2)
		if fourth := b.mustTake(t); fourth.reused {
			t.Error("a connection whose server is gone was given out")
		} else {
			b.giveBack(fourth, false)
		}
	})
}

// What can't be shared is its caller's own, and closed when it comes back.
func TestPoolLegacy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newPoolBench(time.Minute, 1)
		defer b.close(errTestOver)
		b.version = DefaultProtocolVersion
		first, second := b.mustTake(t), b.mustTake(t)
		if first.connection == second.connection {
			t.Error("two calls share a connection of a version with sessions")
		}
		b.giveBack(first, false)
		b.want(t, 2, 1)
		b.giveBack(second, false)
		b.want(t, 2, 2)
	})
}

// Close ends what is open and what is being opened, waits for what is in use, may be
// called twice, and lets nothing begin.
func TestPoolCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newPoolBench(-1, 2)
		used := b.mustTake(t)
		b.gate = make(chan struct{})
		opening := make(chan error, 1)
		go func() {
			_, err := b.take(t.Context())
			opening <- err
		}()
		synctest.Wait()
		closed := make(chan struct{})
		go func() {
			b.close(errTestOver)
			close(closed)
		}()
		if err := <-opening; !errors.Is(err, errTestOver) {
			t.Errorf("who waited for a connection got %v", err)
		}
		synctest.Wait()
		if isClosed(closed) {
			t.Error("close has not waited for a call")
		}
		b.giveBack(used, false)
		<-closed
		b.close(errTestOver)
		if _, err := b.take(t.Context()); !errors.Is(err, errTestOver) {
			t.Errorf("who came later got %v", err)
		}
		b.want(t, 1, 1)
	})
}

// A negative bound is refused by a word that names it.
func TestSharedConnectionsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := NewPlugin(Options{Servers: []Server{{Name: "server", Connect: transport.InMemory(nil), SharedConnections: -1}}})
	if err == nil || !strings.Contains(err.Error(), "SharedConnections is -1") {
		t.Errorf("the error is %v", err)
	}
}

// The server of a call that timed out is asked whether it answers at all. One that
// does keeps its connection; one that hangs loses it. In real time: the MCP SDK holds a
// lock while it closes a connection with a handler that hangs.
func TestPoolDoubts(t *testing.T) {
	t.Parallel()
	b := newPoolBench(-1, 1)
	defer b.close(errTestOver)
	defer close(b.over)
	first := b.mustTake(t)
	b.giveBackDoubted(first)
	l := b.mustTake(t)
	if l.connection != first.connection {
		t.Error("a connection whose server answers was given up")
	}
	close(b.hang)
	b.giveBackDoubted(l)
	select {
	case <-l.member.retired:
	case <-time.After(time.Minute):
		t.Error("a connection whose server hangs is still in the pool")
	}
}
