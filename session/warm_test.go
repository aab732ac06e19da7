package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/log"

	"github.com/mcpsession/mcpsession/transport"
)

// A warmBench is what warm sessions are kept of: real MCP servers, each with a
// number, that run in this process so that the time can be a test's, and pass for
// commands. It is an account of them.
type warmBench struct {
	*testing.T
	in   *warmPools
	said *bytes.Buffer // by the pools, guarded by their lock or read when all rest

	mu       sync.Mutex
	spec     string // what the connector specifies
	specs    int    // if positive, it changes with each call
	started  []*warmServer
	ended    int
	builds   int           // of the connector
	begins   []time.Time   // of starts
	slow     time.Duration // the time of a handshake
	fails    error         // of starts
	exits    time.Duration // if positive, when a server exits by itself
	hangNext int           // that many starts never end
}

// A warmServer is one of them.
type warmServer struct {
	*mcp.Server
	number int
	stuck  chan struct{} // closed once it answers no ping any more
}

func newWarmBench(t *testing.T) *warmBench {
	said := new(bytes.Buffer)
	b := &warmBench{T: t, in: newWarmPools(), said: said, spec: "one"}
	b.in.logger = slog.New(slog.NewTextHandler(said, nil))
	return b
}

// server is a server that keeps sessions warm.
func (b *warmBench) server(warm int) *Server {
	return (Server{Name: "server", Warm: warm, Connect: b.connect}).withDefaults()
}

// A passing transport passes for a command's.
type passing struct {
	transport.Watched
	bench *warmBench
	spec  transport.Specification
}

func (p passing) Specification() transport.Specification { return p.spec }

func (p passing) Connect(ctx context.Context) (mcp.Connection, error) {
	b := p.bench
	b.mu.Lock()
	b.begins = append(b.begins, time.Now())
	fails, slow := b.fails, b.slow
	hangs := b.hangNext > 0
	if hangs {
		b.hangNext--
	}
	b.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	if err := pass(ctx, slow); err != nil {
		return nil, err
	}
	if fails != nil {
		return nil, fails
	}
	conn, err := p.Watched.Connect(ctx)
	if err == nil {
		go func() {
			<-p.Gone()
			b.mu.Lock()
			defer b.mu.Unlock()
			b.ended++
		}()
	}
	return conn, err
}

// pass lets time pass. It makes no timer for none: where several goroutines of a bubble
// receive at once from timers that are due, the race detector crashes
// (https://go.dev/issue/78156).
func pass(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func (b *warmBench) connect(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
	b.mu.Lock()
	b.builds++
	spec := b.spec + string(argument)
	if b.specs > 0 {
		b.specs++
		spec = fmt.Sprint(spec, b.specs)
	}
	b.mu.Unlock()
	made, err := transport.InMemory(b.newServer)(ctx, argument)
	if err != nil {
		return nil, err
	}
	return passing{made.(transport.Watched), b, specificationOf(b.T, spec)}, nil
}

// specificationOf is that of a command with an argument. It starts nothing.
func specificationOf(t *testing.T, argument string) transport.Specification {
	made, err := transport.Command("/bin/sh", argument)(context.Background(), nil)
	if err != nil {
		t.Error(err)
		return transport.Specification{}
	}
	return made.(transport.Specified).Specification()
}

func (b *warmBench) newServer(transport.Argument) *mcp.Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &warmServer{number: len(b.started), stuck: make(chan struct{})}
	s.Server = mcp.NewServer(&mcp.Implementation{Name: fmt.Sprint(s.number), Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "tool", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if isClosed(s.stuck) && method == "ping" {
				<-ctx.Done()
			}
			return next(ctx, method, request)
		}
	})
	if b.exits > 0 {
		time.AfterFunc(b.exits, func() {
			for session := range s.Sessions() {
				_ = session.Close()
			}
		})
	}
	b.started = append(b.started, s)
	return s.Server
}

// opener is what opens a session of a server that uses warm ones.
func (b *warmBench) opener(u *warmUse, argument string) *opener {
	var raw json.RawMessage
	if argument != "" {
		raw = json.RawMessage(argument)
	}
	o := sessionOpener(u.server, raw, log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	o.warm = u
	return o
}

// open opens a session, which is closed at the test's end if not before, and returns
// the number of its server.
func (b *warmBench) open(u *warmUse, argument string) (int, *connection) {
	b.Helper()
	conn, err := b.opener(u, argument).open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var number int
	if _, err := fmt.Sscan(conn.InitializeResult().ServerInfo.Name, &number); err != nil {
		b.Fatal(err)
	}
	return number, conn
}

// want fails the test unless so many servers were started, so many of which have ended.
func (b *warmBench) want(started, ended int) {
	b.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.started) != started || b.ended != ended {
		b.Errorf("%d servers were started and %d have ended; want %d, %d", len(b.started), b.ended, started, ended)
	}
}

// stick makes servers answer no ping any more.
func (b *warmBench) stick(numbers ...int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range numbers {
		close(b.started[n].stuck)
	}
}

// count is how many servers were started, and how many of them run.
func (b *warmBench) count() (started, running int) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.started), len(b.started) - b.ended
}

func (b *warmBench) starts() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.begins)
}

// took fails the test unless it took that long.
func took(t *testing.T, since time.Time, want time.Duration) {
	t.Helper()
	if d := time.Since(since); d != want {
		t.Errorf("it took %v, want %v", d, want)
	}
}

// A session that waits is handed out, and another is started in its place; at the stop
// all that wait have ended and the one that was handed out has not.
func TestWarmHandsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		b.slow = 2 * time.Second
		u := newWarmUse(b.in, b.server(2))
		u.prewarm()
		time.Sleep(2 * time.Second)
		b.want(2, 0)
		began := time.Now()
		n, conn := b.open(u, "")
		took(t, began, 0)
		if n > 1 {
			t.Errorf("was given server %d, which was not there before", n)
		}
		time.Sleep(2 * time.Second)
		b.want(3, 0)
		u.stop()
		b.want(3, 2)
		if err := conn.Ping(t.Context(), nil); err != nil {
			t.Errorf("the session that was handed out: %v", err)
		}
		_ = conn.close()
		b.want(3, 3)
	})
}

// However many take at once, no two get the same session, and none that was given
// before.
func TestWarmNeverTwice(t *testing.T) {
	t.Parallel()
	b := newWarmBench(t)
	uses := []*warmUse{newWarmUse(b.in, b.server(3)), newWarmUse(b.in, b.server(5))}
	for _, u := range uses {
		u.prewarm()
		defer u.stop()
	}
	var mu sync.Mutex
	given := make(map[int]int)
	for range 4 {
		var taking sync.WaitGroup
		for i := range 40 {
			taking.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				if i%5 == 0 { // some go away meanwhile
					time.AfterFunc(time.Duration(i)*50*time.Microsecond, cancel)
				}
				defer cancel()
				conn, err := b.opener(uses[i%2], "").open(ctx)
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				var n int
				_, _ = fmt.Sscan(conn.InitializeResult().ServerInfo.Name, &n)
				mu.Lock()
				given[n]++
				mu.Unlock()
				_ = conn.close()
			})
		}
		taking.Wait()
	}
	for n, times := range given {
		if times != 1 {
			t.Errorf("server %d was given %d times", n, times)
		}
	}
	for _, u := range uses {
		u.stop()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != len(b.started) {
		t.Errorf("%d servers were started and %d have ended", len(b.started), b.ended)
	}
}

// Who finds none ready waits for the first that is: not longer than for one of its
// own, and less if another's start is further on.
func TestWarmWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before time.Duration // how long a start is under way
		hangs  int           // how many of the pool's starts never end
		want   time.Duration
	}{
		"a start that is nearly over": {1900 * time.Millisecond, 0, 100 * time.Millisecond},
		"a start that has just begun": {time.Millisecond, 0, 1999 * time.Millisecond},
		"starts that hang":            {time.Second, 2, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newWarmBench(t)
				b.slow, b.hangNext = 2*time.Second, test.hangs
				u := newWarmUse(b.in, b.server(2))
				u.prewarm()
				time.Sleep(test.before)
				began := time.Now()
				_, conn := b.open(u, "")
				took(t, began, test.want)
				_ = conn.close()
				u.stop()
			})
		})
	}
}

// Thirty that open at once where three wait take as long as one that starts.
func TestWarmBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		b.slow = 2 * time.Second
		u := newWarmUse(b.in, b.server(3))
		u.prewarm()
		time.Sleep(5 * time.Second)
		began := time.Now()
		var opening sync.WaitGroup
		var atOnce sync.Map
		for i := range 30 {
			opening.Go(func() {
				_, conn := b.open(u, "")
				if time.Since(began) == 0 {
					atOnce.Store(i, true)
				}
				_ = conn.close()
			})
		}
		opening.Wait()
		took(t, began, 2*time.Second)
		n := 0
		atOnce.Range(func(any, any) bool { n++; return true })
		if n != 3 {
			t.Errorf("%d were there at once, want 3", n)
		}
		time.Sleep(5 * time.Second)
		b.want(33, 30)
		u.stop()
		b.want(33, 33)
	})
}

// A server that does not start is tried again after pauses that grow, told of once,
// and delays nobody who opens.
func TestWarmStartFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		b.fails = errors.New("no disk")
		u := newWarmUse(b.in, b.server(3))
		u.prewarm()
		time.Sleep(10 * time.Minute)
		// 1 + 2 + 4 + 8 + 16 + 32 s, then one a minute; two at once.
		if n := b.starts(); n < 10 || n > 2*(6+10) {
			t.Errorf("%d starts in 10 minutes", n)
		}
		if n := strings.Count(b.said.String(), "no disk"); n != 1 {
			t.Errorf("it was told %d times:\n%s", n, b.said)
		}
		began := time.Now()
		if _, err := b.opener(u, "").open(t.Context()); err == nil || !strings.Contains(err.Error(), "no disk") {
			t.Errorf("opening failed with %v", err)
		}
		took(t, began, causeTimeout) // as it does without warm sessions
		b.mu.Lock()
		b.fails = nil
		b.mu.Unlock()
		time.Sleep(2 * time.Minute)
		b.want(3, 0)
		u.stop()
		b.want(3, 3)
	})
}

// A server that exits soon after its start is not started again and again; one that
// exits after a while is replaced.
func TestWarmServerExits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after    time.Duration
		min, max int // starts in an hour
	}{
		"soon":            {100 * time.Millisecond, 60, 2 * 70},
		"after 5 minutes": {5 * time.Minute, 24, 26},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newWarmBench(t)
				b.exits = test.after
				u := newWarmUse(b.in, b.server(2))
				u.prewarm()
				time.Sleep(time.Hour)
				if n := b.starts(); n < test.min || n > test.max {
					t.Errorf("%d starts in an hour, want %d to %d", n, test.min, test.max)
				}
				u.stop()
			})
		})
	}
}

// Sessions that wait and answer nothing are not handed out: all of them together delay
// who opens by one bound, and they are replaced.
func TestWarmStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		u := newWarmUse(b.in, b.server(3))
		u.prewarm()
		b.want(3, 0)
		b.stick(0, 1, 2)
		began := time.Now()
		n, conn := b.open(u, "")
		took(t, began, warmCheckTimeout)
		if n < 3 {
			t.Errorf("was given server %d, which answers nothing", n)
		}
		time.Sleep(time.Minute)
		began = time.Now()
		n, other := b.open(u, "")
		took(t, began, 0)
		if n < 3 {
			t.Errorf("was given server %d, which answers nothing", n)
		}
		_ = conn.close()
		_ = other.close()
		u.stop()
	})
}

// A version of MCP that has no ping is no reason to take a session for dead.
func TestWarmWithoutPing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		s := b.server(1)
		s.ProtocolVersion = firstSessionlessVersion
		u := newWarmUse(b.in, s)
		u.prewarm()
		b.want(1, 0)
		n, conn := b.open(u, "")
		if n != 0 || conn.InitializeResult().ProtocolVersion != firstSessionlessVersion {
			t.Errorf("was given server %d with version %s", n, conn.InitializeResult().ProtocolVersion)
		}
		_ = conn.close()
		u.stop()
	})
}

// Who goes away while a session is asked whether it is alive, or while one is started,
// leaves nothing.
func TestWarmOpenerLeaves(t *testing.T) {
	t.Parallel()
	for _, starting := range []bool{false, true} {
		t.Run(fmt.Sprintf("starting %v", starting), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newWarmBench(t)
				u := newWarmUse(b.in, b.server(1))
				if starting {
					b.hangNext = 2
				} else {
					u.prewarm()
					b.want(1, 0)
					b.stick(0)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				left := errors.New("left")
				time.AfterFunc(500*time.Millisecond, func() { cancel(left) })
				began := time.Now()
				if _, err := b.opener(u, "").open(ctx); !errors.Is(err, left) {
					t.Errorf("opening failed with %v", err)
				}
				took(t, began, 500*time.Millisecond)
				if !starting {
					b.want(2, 1) // another waits already
				}
				time.Sleep(time.Minute)
				u.stop()
				if !starting {
					b.want(2, 2)
				}
			})
		})
	}
}

// What a connector has come to specify counts: those that were started for what it
// specified before are closed, and never handed out.
func TestWarmSpecificationChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		u := newWarmUse(b.in, b.server(2))
		u.prewarm()
		b.want(2, 0)
		b.mu.Lock()
		b.spec = "two"
		b.mu.Unlock()
		n, conn := b.open(u, "")
		if n < 2 {
			t.Errorf("was given server %d, which was started for another specification", n)
		}
		b.want(5, 2)
		_ = conn.close()
		// What it is by the time of the next start counts, too.
		b.mu.Lock()
		b.spec = "three"
		b.mu.Unlock()
		b.mu.Lock()
		exits := b.started[2+btoi(n == 2)]
		b.mu.Unlock()
		for session := range exits.Sessions() {
			_ = session.Close()
		}
		time.Sleep(10 * time.Minute)
		b.want(5, 5)
		u.stop()
	})
}

// A connector that specifies another server each time costs no process, and is told of.
func TestWarmSpecificationAlwaysChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		b.specs = 1
		u := newWarmUse(b.in, b.server(2))
		u.prewarm()
		for i := range 10 {
			n, conn := b.open(u, "")
			if n != i {
				t.Errorf("was given server %d", n)
			}
			_ = conn.close()
			time.Sleep(time.Minute)
		}
		b.want(10, 10)
		if n := strings.Count(b.said.String(), "Warm has no effect"); n != 1 {
			t.Errorf("it was told %d times:\n%s", n, b.said)
		}
		u.stop()
	})
}

// Each argument has sessions of its own, from its first use on; not more of them than
// a bound, and not for longer than they are used. What a worker begins with stays.
func TestWarmArguments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		u := newWarmUse(b.in, b.server(1))
		u.prewarm()
		b.want(1, 0)
		const arguments = MaxWarmSpecifications + 4
		for i := range arguments {
			_, conn := b.open(u, fmt.Sprint(i))
			_ = conn.close()
			synctest.Wait()
		}
		// The one without an argument, and the last of the others.
		b.want(1+2*arguments, 2*arguments-(MaxWarmSpecifications-1))
		before, _ := b.count()
		if n, conn := b.open(u, fmt.Sprint(arguments-1)); n >= before {
			t.Error("an argument that was used last has no warm session")
		} else {
			_ = conn.close()
		}
		before, _ = b.count()
		n, conn := b.open(u, "0")
		if n < before {
			t.Errorf("an argument that was not used for long was given server %d", n)
		}
		_ = conn.close()
		time.Sleep(WarmIdleTimeout - time.Second)
		if _, alive := b.count(); alive != MaxWarmSpecifications {
			t.Errorf("%d wait, want %d", alive, MaxWarmSpecifications)
		}
		time.Sleep(2 * time.Second)
		if _, alive := b.count(); alive != 1 {
			t.Errorf("%d wait after %v without use, want 1", alive, WarmIdleTimeout)
		}
		time.Sleep(100 * time.Hour)
		if n, conn := b.open(u, ""); n != 0 {
			t.Errorf("was given server %d, want the one that the worker began with", n)
		} else {
			_ = conn.close()
		}
		u.stop()
	})
}

// Two that have the same specification share sessions, as many as the one that wants
// most; they end with the last.
func TestWarmShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		small, large := newWarmUse(b.in, b.server(1)), newWarmUse(b.in, b.server(3))
		small.prewarm()
		large.prewarm()
		b.want(3, 0)
		if n, conn := b.open(small, ""); n > 2 {
			t.Errorf("was given server %d", n)
		} else {
			_ = conn.close()
		}
		b.want(4, 1)
		large.stop()
		b.want(4, 3)
		small.stop()
		b.want(4, 4)
		if len(b.in.pools) != 0 {
			t.Errorf("%d pools are left", len(b.in.pools))
		}
	})
}

// Those that differ in what a handshake depends on share nothing.
func TestWarmNotShared(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Server){
		"version":   func(s *Server) { s.ProtocolVersion = "2025-06-18" },
		"client":    func(s *Server) { s.Client = new(mcp.ClientOptions) },
		"time":      func(s *Server) { s.ConnectTimeout = time.Second },
		"stateless": func(s *Server) { s.AllowSessionless = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newWarmBench(t)
				s := b.server(1)
				change(s)
				u, other := newWarmUse(b.in, b.server(1)), newWarmUse(b.in, s)
				u.prewarm()
				other.prewarm()
				b.want(2, 0)
				u.stop()
				b.want(2, 1)
				other.stop()
			})
		})
	}
}

// A stop may come twice, before the start, beside others and during a start, which it
// ends; after it nothing is started, and sessions open all the same.
func TestWarmStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		before := newWarmUse(b.in, b.server(2))
		before.stop()
		before.prewarm()
		b.want(0, 0)
		_, conn := b.open(before, "")
		_ = conn.close()
		b.want(1, 1)

		b.slow = time.Hour
		u := newWarmUse(b.in, b.server(2))
		u.prewarm()
		time.Sleep(time.Second)
		began := time.Now()
		var stopping sync.WaitGroup
		for range 5 {
			stopping.Go(u.stop)
		}
		stopping.Wait()
		took(t, began, 0)
		time.Sleep(2 * time.Hour)
		b.want(1, 1)
		if n := b.starts(); n != 3 {
			t.Errorf("%d starts, want one and the two that were ended", n)
		}
		none := newWarmUse(b.in, b.server(0))
		none.prewarm()
		none.stop()
	})
}

// Whoever has a session started for itself keeps it when its worker's pool ends.
func TestWarmStopsBesideAnOpening(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		b.slow = 2 * time.Second
		s := b.server(1)
		s.WarmOnUse = true
		u := newWarmUse(b.in, s)
		u.prewarm()
		b.want(0, 0)
		time.AfterFunc(time.Second, u.stop)
		began := time.Now()
		_, conn := b.open(u, "")
		took(t, began, 2*time.Second)
		if err := conn.Ping(t.Context(), nil); err != nil {
			t.Error(err)
		}
		_ = conn.close()
		b.want(1, 1)
	})
}

// That the tool list changed while a session waited is told to its holder, and what
// changes later, too.
func TestWarmTellsOfChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWarmBench(t)
		u := newWarmUse(b.in, b.server(1))
		u.prewarm()
		b.want(1, 0)
		grow := func(name string) {
			b.started[0].AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
			time.Sleep(time.Second) // the SDK gathers notices for a moment
		}
		grow("first")
		var told atomic.Int64
		o := b.opener(u, "")
		o.toolsChanged = func() { told.Add(1) }
		conn, err := o.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := told.Load(); n != 1 {
			t.Errorf("was told %d times of a change before", n)
		}
		grow("second")
		if n := told.Load(); n != 2 {
			t.Errorf("was told %d times of two changes", n)
		}
		_ = conn.close()
		u.stop()
	})
}

// A connector that fails without an argument is told of, unless that is because it
// takes one; one that runs no command has nothing to keep warm, which is told once.
func TestWarmHasNothingToStart(t *testing.T) {
	t.Parallel()
	inMemory := transport.InMemory(func(transport.Argument) *mcp.Server {
		return mcp.NewServer(&mcp.Implementation{Name: "plain", Version: "1"}, nil)
	})
	for name, test := range map[string]struct {
		connect transport.Connector
		opens   bool
		told    string
	}{
		"takes an argument": {func(_ context.Context, a transport.Argument) (mcp.Transport, error) {
			return nil, a.Decode(new(string))
		}, false, ""},
		"fails":      {func(context.Context, transport.Argument) (mcp.Transport, error) { return nil, errors.New("no vault") }, false, "no vault"},
		"panics":     {func(context.Context, transport.Argument) (mcp.Transport, error) { panic("no activity") }, false, "the connector panicked with a string"},
		"no command": {inMemory, true, "Warm has no effect"},
		"wraps nothing": {func(ctx context.Context, a transport.Argument) (mcp.Transport, error) {
			made, err := inMemory(ctx, a)
			if err != nil {
				return nil, err
			}
			return wrapping{Watched: made.(transport.Watched)}, nil
		}, true, "Warm has no effect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newWarmBench(t)
				s := b.server(2)
				s.Connect = test.connect
				u := newWarmUse(b.in, s)
				u.prewarm()
				synctest.Wait()
				for range 2 {
					if conn, err := b.opener(u, "").open(t.Context()); err == nil {
						_ = conn.close()
					} else if test.opens {
						t.Error(err)
					}
				}
				u.stop()
				said := b.said.String()
				if test.told == "" && said != "" || test.told != "" && (strings.Count(said, test.told) != 1 || !strings.Contains(said, "server=server")) {
					t.Errorf("was told %q", said)
				}
			})
		})
	}
}

// A wrapping transport has promised a specification and has none.
type wrapping struct {
	transport.Watched
	specified
}

type specified interface {
	Specification() transport.Specification
}

// What is no number of sessions is refused, and so is a time to begin with nothing.
func TestWarmIsChecked(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Server{
		"Warm is -1; use zero for none":    {Warm: -1},
		"WarmOnUse is set and Warm is not": {WarmOnUse: true},
	} {
		s.Name, s.Connect = "browser", transport.Command("server")
		_, err := NewPlugin(Options{Servers: []Server{s}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"browser"`) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
