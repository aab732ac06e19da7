package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// nothingOpen is the activity that returns once its run has no other one open.
const nothingOpen = "nothing is open"

// failToOpen runs a workflow whose block does not open, and returns what it saw
// and how long it took. While the workflow goes on, nothing of the block is left.
func (b *bundle) failToOpen(options toolset.Options, servers ...session.Server) (fault, time.Duration) {
	b.Helper()
	type seen struct {
		Fault fault
		Took  time.Duration
	}
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		began := workflow.Now(ctx)
		ts, err := toolset.Open(ctx, options)
		if err == nil {
			return got, fmt.Errorf("the block opened, and closed with %w", ts.Close(ctx))
		}
		got.Fault, got.Took = faultOf(err), workflow.Now(ctx).Sub(began)
		return got, await(ctx, nothingOpen)
	}, servers...)
	b.nothingOpen(w)
	var got seen
	if err := b.start().Get(b.ctx, &got); err != nil {
		b.Fatal(err)
	}
	return got.Fault, got.Took
}

// nothingOpen registers that activity, for the run of the test's workflow.
func (b *bundle) nothingOpen(w worker.Worker) {
	condition(w, nothingOpen, func() bool {
		open, err := b.described(b.ctx, b.taskQueue, "")
		return err == nil && len(open) == 1
	})
}

// attempts is an option of the session activity: how often to try, with little
// time between.
func attempts(n int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond, MaximumAttempts: n}}
}

// checkOpenFailure fails the test unless f is an OpenFailure of server and reason
// in which no tool ran, and which leaves the workflow's own retries free.
func checkOpenFailure(t *testing.T, f fault, server string, reason failure.Reason, words ...string) {
	t.Helper()
	if f.Type != failure.TypeOpen || f.Details.Reason != reason || f.Details.Server != server || f.Ran != failure.RanNo || f.Final {
		t.Errorf("the failure is %+v, want an OpenFailure of reason %s", f, reason)
	}
	mentions(t, f.Text, append(words, fmt.Sprintf("%q", server), string(reason))...)
}

// Nobody polls for the session: the block fails when schedule-to-start passes, and
// says what is missing where.
func TestNoHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f, took := b.failToOpen(toolset.Options{Server: "nowhere", Session: workflow.ActivityOptions{
		TaskQueue: b.taskQueue + "-nobody", ScheduleToStartTimeout: time.Second,
	}})
	checkOpenFailure(t, f, "nowhere", failure.ReasonNoHost, "1s", b.taskQueue, "session.NewPlugin", "Options.Session")
	if took > testTimeout/3 {
		t.Errorf("it took %v", took)
	}
}

// The worker that takes the session knows other servers only.
func TestHostWithoutTheServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f, _ := b.failToOpen(toolset.Options{Server: "browser", Session: attempts(2)}, stdio("counter"))
	checkOpenFailure(t, f, "browser", failure.ReasonUnknownServer, "mcp.browser.session", "session.NewPlugin")
}

// A connects counts the calls of a connector.
type connects struct {
	calls chan struct{}
}

func newConnects() *connects { return &connects{make(chan struct{}, 100)} }

func (c *connects) of(connect transport.Connector) transport.Connector {
	return func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		c.calls <- struct{}{}
		return connect(ctx, arg)
	}
}

// A connector or a server that fails, in every way that they have: each is an
// OpenFailure that names the reason and what the connector or the server said, in
// as many attempts as can help, and no process of any attempt is left.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	released := newLatch()
	t.Cleanup(released.open)
	for _, test := range []struct {
		name    string
		server  func(file string) session.Server
		timeout time.Duration // ConnectTimeout
		reason  failure.Reason
		words   []string
		tries   int // of three
	}{
		{name: "missing executable", server: program("no-such-program"), reason: "executable-not-found",
			words: []string{"no-such-program", "PATH", "install"}, tries: 1},
		{name: "missing path", server: program("./no/such/program"), reason: "executable-not-found",
			words: []string{"./no/such/program"}, tries: 1},
		{name: "empty name", server: program(""), reason: "bad-option", words: []string{"empty"}, tries: 1},
		{name: "not executable", server: written(0o600, "#!/bin/sh\n"), reason: "not-executable", words: []string{"program", "mode"}, tries: 1},
		{name: "no program", server: written(0o700, "hello"), reason: "not-executable", words: []string{"program", "#!"}, tries: 1},
		{name: "exits", server: role("exits"), reason: failure.ReasonConnect,
			words: []string{"exited with status 3", "unknown option --stdio"}, tries: 3},
		{name: "chatter", server: role("chatter"), reason: failure.ReasonConnect,
			words: []string{"handshake", "Goodbye."}, tries: 3},
		{name: "silent", server: role("silent"), timeout: time.Second, reason: failure.ReasonConnectTimeout,
			words: []string{"handshake", "ConnectTimeout 1s", "raise"}, tries: 3},
		{name: "garbage", server: role("garbage"), timeout: time.Second, reason: failure.ReasonConnectTimeout,
			words: []string{"handshake", "ConnectTimeout 1s", "raise"}, tries: 3},
		{name: "connector fails", server: connecting(func(context.Context) (mcp.Transport, error) {
			return nil, fmt.Errorf("the vault is sealed")
		}), reason: failure.ReasonConnect, words: []string{"the vault is sealed"}, tries: 3},
		{name: "connector fails for good", server: connecting(func(context.Context) (mcp.Transport, error) {
			return nil, transport.Permanent("no-such-tenant", fmt.Errorf("there is no tenant 7"))
		}), reason: "no-such-tenant", words: []string{"there is no tenant 7"}, tries: 1},
		{name: "connector panics", server: connecting(func(context.Context) (mcp.Transport, error) {
			panic("out of luck")
		}), reason: failure.ReasonConnect, words: []string{"the connector panicked with a string"}, tries: 3},
		{name: "connector returns nil", server: connecting(func(context.Context) (mcp.Transport, error) {
			return nil, nil
		}), reason: failure.ReasonConnect, words: []string{"connector", "nil transport"}, tries: 1},
		{name: "connector waits", server: connecting(func(ctx context.Context) (mcp.Transport, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}), timeout: 200 * time.Millisecond, reason: failure.ReasonConnectTimeout, words: []string{"the connector did not return", "ConnectTimeout 200ms", "raise"}, tries: 3},
		{name: "connector hangs", server: connecting(func(context.Context) (mcp.Transport, error) {
			<-released.opened // whatever its context says
			return nil, nil
		}), timeout: 200 * time.Millisecond, reason: failure.ReasonConnectTimeout, words: []string{"the connector did not return", "ConnectTimeout 200ms"}, tries: 3},
		{name: "server's function panics", server: func(string) session.Server {
			return inMemory("broken", func() *mcp.Server { panic("out of memory") })
		}, reason: failure.ReasonConnect, words: []string{"InMemory", "panicked with a string"}, tries: 3},
		{name: "no server", server: func(string) session.Server {
			return inMemory("broken", func() *mcp.Server { return nil })
		}, reason: "no-server", words: []string{"InMemory"}, tries: 1},
		{name: "refuses the handshake", server: initialized(`"error":{"code":-32601,"message":"no method"}`), reason: failure.ReasonConnect,
			words: []string{"refused the MCP handshake"}, tries: 1},
		{name: "old version", server: initialized(`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"old","version":"1"}}`),
			reason: failure.ReasonProtocolVersion, words: []string{"1999-01-01"}, tries: 1},
		{name: "answers nonsense", server: initialized(`"hello"`), reason: failure.ReasonConnect, tries: 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			file := t.TempDir() + "/pids"
			s := test.server(file)
			s.ConnectTimeout = test.timeout
			count := newConnects()
			s.Connect = count.of(s.Connect)
			f, took := b.failToOpen(toolset.Options{Server: "broken", Session: attempts(3)}, s)
			checkOpenFailure(t, f, "broken", test.reason, test.words...)
			if n := len(count.calls); n != test.tries {
				t.Errorf("the connector was called %d times, want %d", n, test.tries)
			}
			if took > testTimeout/2 {
				t.Errorf("it took %v", took)
			}
			for _, pid := range notes(file) {
				if !exited(t, pid) {
					t.Errorf("process %s is left", pid)
				}
			}
			if isRole := slices.Contains([]string{"exits", "chatter", "silent", "garbage"}, test.name); isRole && len(notes(file)) != test.tries {
				t.Errorf("%d processes were started", len(notes(file)))
			}
		})
	}
}

func program(name string) func(string) session.Server {
	return func(string) session.Server { return session.Server{Name: "broken", Connect: transport.Command(name)} }
}

// written is a file of some mode as the program.
func written(mode os.FileMode, content string) func(string) session.Server {
	return func(file string) session.Server {
		path := filepath.Join(filepath.Dir(file), "program")
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			panic(err)
		}
		return session.Server{Name: "broken", Connect: transport.Command(path)}
	}
}

func role(name string) func(string) session.Server {
	return func(file string) session.Server { return command("broken", name, file) }
}

func connecting(connect func(context.Context) (mcp.Transport, error)) func(string) session.Server {
	return func(string) session.Server {
		return session.Server{Name: "broken", Connect: func(ctx context.Context, _ transport.Argument) (mcp.Transport, error) {
			return connect(ctx)
		}}
	}
}

// initialized is a server that answers the handshake so.
func initialized(answer string) func(string) session.Server {
	w := wire(func(method string, _ json.RawMessage) string {
		if method == "initialize" {
			return answer
		}
		return ""
	})
	return func(string) session.Server { return session.Server{Name: "broken", Connect: w.connector} }
}
