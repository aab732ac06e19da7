package stateless

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// many makes calls at once, and returns what each saw.
func many(ctx workflow.Context, c *stateless.Client, n int, tool string, arguments any) []seen {
	all := make([]seen, n)
	done := workflow.NewWaitGroup(ctx)
	for i := range n {
		done.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer done.Done()
			all[i] = call(ctx, c, tool, arguments)
		})
	}
	done.Wait(ctx)
	return all
}

// Which calls share a connection: those on which the server speaks a version without
// sessions, over every transport, at once and one after another, and of different
// runs; not those of an older version, and not those with an argument.
func TestSharing(t *testing.T) {
	t.Parallel()
	stdio := func(b *bundle) transport.Connector { return overStdio(b.TaskQueue) }
	for name, test := range map[string]struct {
		connect  func(b *bundle) transport.Connector
		version  string
		argument any
		shared   bool
	}{
		"stdio":                 {stdio, "", nil, true},
		"HTTP without sessions": {func(b *bundle) transport.Connector { return b.overHTTP(false) }, "", nil, true},
		"in memory":             {func(*bundle) transport.Connector { return inMemory() }, "", nil, true},
		"stdio, legacy":         {stdio, session.DefaultProtocolVersion, nil, false},
		"HTTP with sessions":    {func(b *bundle) transport.Connector { return b.overHTTP(true) }, session.DefaultProtocolVersion, nil, false},
		"HTTP, legacy":          {func(b *bundle) transport.Connector { return b.overHTTP(false) }, session.DefaultProtocolVersion, nil, false},
		"an argument":           {stdio, "", "tenant", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			s := b.counted(test.connect(b))
			s.ProtocolVersion = test.version
			b.worker(session.Options{Servers: []session.Server{s}})
			counts := func(ctx workflow.Context, c *stateless.Client) ([]seen, error) {
				all := many(ctx, c, 3, fixture.Incr, nil)
				return append(all, call(ctx, c, fixture.Incr, nil)), nil
			}
			options := stateless.Options{Argument: test.argument}
			all := slices.Concat(do(b, options, counts), do(b, options, counts))
			var counters []string
			for _, s := range all {
				counters = append(counters, s.Text)
			}
			slices.Sort(counters)
			want, connects := []string{"1", "1", "1", "1", "1", "1", "1", "1"}, 8
			if test.shared {
				connects = 1
				if name != "HTTP without sessions" { // where each request meets a new server
					want = []string{"1", "2", "3", "4", "5", "6", "7", "8"}
				}
			}
			if !slices.Equal(counters, want) || b.connects() != connects {
				t.Errorf("the counters were %q in %d connections; want %q in %d", counters, b.connects(), want, connects)
			}
			for _, line := range fixture.Lines(b.File("connects")) {
				if test.argument != nil && line != `connect "tenant"` {
					t.Errorf("the connector had the argument %q", line)
				}
			}
		})
	}
}

// With room for two connections the second call at once opens another, and the third
// shares one: no connection is opened beyond the bound. A bound of calls on each makes
// the third wait for its turn.
func TestSharedConnections(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{0, 1} {
		t.Run(fmt.Sprint("calls ", calls), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			s := b.counted(overStdio(b.TaskQueue))
			s.SharedConnections, s.MaxConcurrentCalls = 2, calls
			b.worker(session.Options{Servers: []session.Server{s}})
			blocked := fixture.BlockArguments{Began: b.File("began"), Until: b.File("until")}
			run := begin(b, stateless.Options{}, func(ctx workflow.Context, c *stateless.Client) ([]seen, error) {
				return many(ctx, c, 3, fixture.Block, blocked), nil
			})
			at := 3
			if calls > 0 {
				at = 2
			}
			b.AwaitLines(blocked.Began, at)
			if n := len(fixture.Lines(blocked.Began)); n != at {
				t.Errorf("%d calls have begun, want %d", n, at)
			}
			if err := fixture.AppendLine(blocked.Until, "now"); err != nil {
				t.Fatal(err)
			}
			for _, s := range run.Result() {
				if s.Text != "done" {
					t.Errorf("a call saw %+v", s)
				}
			}
			if n := b.connects(); n != 2 {
				t.Errorf("there were %d connections, want 2", n)
			}
		})
	}
}

// With a zero SharedIdleTimeout a process is gone after its call, with a short one
// soon after, while the worker runs on; the next call has a new one. Without one it
// stays. (Defaults and negative times are in the unit tests of package session.)
func TestIdle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		idle  *time.Duration
		stays bool
	}{
		"zero": {new(time.Duration), false}, "short": {new(50 * time.Millisecond), false}, "default": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			s := b.counted(overStdio(b.TaskQueue))
			s.SharedIdleTimeout = test.idle
			b.worker(session.Options{Servers: []session.Server{s}})
			var pids []string
			for range 2 {
				pids = append(pids, do(b, stateless.Options{}, once(fixture.Pid, nil)).Text)
				if !test.stays {
					b.Eventually("the process is gone", func() bool { return len(b.Processes()) == 0 })
				}
			}
			if same := pids[0] == pids[1]; same != test.stays {
				t.Errorf("the processes were %q", pids)
			}
		})
	}
}

// A connection whose server dies while it lies idle is never seen: the call after has
// another, is tried once, and runs. One of which the server takes the credentials back
// is left as well, and the next asks its connector for new ones. (C3)
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	t.Run("the process is gone", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.worker(session.Options{Servers: []session.Server{b.counted(overStdio(b.TaskQueue))}})
		do(b, stateless.Options{}, once(fixture.Pid, nil))
		for _, pid := range b.Processes() {
			killProcess(pid)
		}
		b.Eventually("the process is gone", func() bool { return len(b.Processes()) == 0 })
		run := begin(b, stateless.Options{}, once(fixture.Get, nil))
		if s := run.Result(); s.Text != "0" {
			t.Errorf("the call saw %+v", s)
		}
		b.WantAttempts(run, 1)
		if n := b.connects(); n != 2 {
			t.Errorf("there were %d connections, want 2", n)
		}
	})
	t.Run("the token is another", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		var token atomic.Value
		token.Store("one")
		inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, &mcp.StreamableHTTPOptions{Stateless: true})
		url := b.Serve(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if request.Header.Get("X-Token") != token.Load() {
				http.Error(w, "go away", http.StatusUnauthorized)
				return
			}
			inner.ServeHTTP(w, request)
		}))
		b.worker(session.Options{Servers: []session.Server{b.counted(transport.HTTP(url, transport.WithHeaders(headersOf(&token))))}})
		do(b, stateless.Options{}, once(fixture.Get, nil))
		token.Store("two")
		run := begin(b, stateless.Options{}, once(fixture.Get, nil))
		if s := run.Result(); s.Text != "0" {
			t.Errorf("the call saw %+v", s)
		}
		b.WantAttempts(run, 1)
	})
	t.Run("sessions are evicted", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		h := fixture.NewHTTP(nil)
		s := b.counted(transport.HTTP(b.Serve(h)))
		b.worker(session.Options{Servers: []session.Server{s}})
		for range 3 {
			if s := do(b, stateless.Options{}, once(fixture.Get, nil)); s.Text != "0" {
				t.Errorf("a call saw %+v", s)
			}
			h.Evict()
		}
	})
}

// Ten callers share two processes, which are killed once under load. No more than the
// calls in flight fail, each told what is known; the fifty calls after that all
// succeed, on two live processes. (C12)
func TestCutUnderLoad(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.counted(overStdio(b.TaskQueue))
	s.SharedConnections = 2
	b.worker(session.Options{Servers: []session.Server{s}})
	const callers = 10
	blocked := fixture.BlockArguments{Began: b.File("began"), Until: b.File("until")}
	run := begin(b, stateless.Options{}, func(ctx workflow.Context, c *stateless.Client) ([]seen, error) {
		all := many(ctx, c, callers, fixture.Block, blocked)
		for range 5 {
			all = append(all, many(ctx, c, callers, fixture.Get, nil)...)
		}
		return all, nil
	})
	b.AwaitLines(blocked.Began, callers)
	killed := b.Processes()
	for _, pid := range killed {
		killProcess(pid)
	}
	if err := fixture.AppendLine(blocked.Until, "now"); err != nil {
		t.Fatal(err)
	}
	for i, s := range run.Result() {
		if i < callers {
			if s.Type != "" {
				b.want(s, "CallFailure", "server-gone", "unknown")
			}
			continue
		}
		if s.Text != "0" {
			t.Errorf("call %d after the cut saw %+v", i-callers, s)
		}
	}
	if n := len(killed); n != 2 || b.connects() != 4 || len(b.Processes()) != 2 {
		t.Errorf("%d processes were killed, there were %d connections, %d processes live", n, b.connects(), len(b.Processes()))
	}
}
