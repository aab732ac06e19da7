package tests

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/tests/link"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// What a run tells that was cut off from its first host.
type cutOff struct {
	Lost, Later fault    // the call that ran, and the next one
	Hosts       []string // of its blocks, in order
	Counts      []string // of the second block's counter
}

// runCutOff is a run that, once its session is lost, opens another at once and
// goes on in the same store.
func runCutOff(options toolset.Options, tool, store string) func(workflow.Context) (cutOff, error) {
	return func(ctx workflow.Context) (got cutOff, err error) {
		err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			got.Hosts = append(got.Hosts, ts.Info().Host)
			if _, err := call(ctx, ts, fixture.Incr, nil); err != nil {
				return err
			}
			_, lost := call(ctx, ts, tool, fixture.AppendArguments{File: store, Line: "old"})
			got.Lost = faultOf(lost)
			_, lost = call(ctx, ts, fixture.Get, nil)
			got.Later = faultOf(lost)
			return nil
		})
		if !failure.IsDedicatedWorker(err) {
			return got, err
		}
		err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			got.Hosts = append(got.Hosts, ts.Info().Host)
			for _, event := range []string{"the old host's word has come", "the end"} {
				if _, err := call(ctx, ts, fixture.Append, fixture.AppendArguments{File: store, Line: "new"}); err != nil {
					return err
				}
				count, err := call(ctx, ts, fixture.Incr, nil)
				if err != nil {
					return err
				}
				got.Counts = append(got.Counts, count)
				if err := await(ctx, event); err != nil {
					return err
				}
			}
			// This host has room for one: another block is on the host that was cut off.
			return toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
				got.Hosts = append(got.Hosts, ts.Info().Host)
				count, err := call(ctx, ts, fixture.Get, nil)
				got.Counts = append(got.Counts, count)
				return err
			})
		})
		return got, err
	}
}

// A host is cut off from the Temporal server for longer than its heartbeat
// timeout, while it reaches its MCP server as ever: with a call that runs, or with
// one whose result is on its way. It knows by itself when it is no longer the
// session's owner, and ends the call and the session, with nobody telling it to.
// The workflow is told by the server, and goes on in another block on another
// host, over the same store, where nothing of the old session comes after it. What
// the old host has to say once the network is back reaches nobody, and it takes
// sessions again.
func TestHostCutOff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		http  bool
		tool  string // Tick runs on; Append has a result, which is on its way
		lines int    // at least, of the old session
	}{
		"stdio, a call runs":            {false, fixture.Tick, 10},
		"stdio, a result is on its way": {false, fixture.Append, 1},
		"HTTP, a call runs":             {true, fixture.Tick, 10},
		"HTTP, a result is on its way":  {true, fixture.Append, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			l := b.linked()
			var pid int // of the first server, over stdio
			connect, closed := ownedFixture(b.taskQueue), func() bool { return gone(pid) }
			if tc.http {
				s := b.remoteSite()
				connect, closed = transport.HTTP(s.URL), func() bool { return s.count(http.MethodDelete) > 0 }
			}
			store := b.file("store")
			onItsWay, healed, heard := newLatch(), newLatch(), newLatch()
			b.Cleanup(healed.open)
			// The last word of the call that was under way.
			lastWord := l.link.Delayed(healed.opened, func(error) { heard.open() })
			l.link.Put(link.Complete, l.ofCalls(func(calls int) link.Fault {
				if calls == 2 && tc.tool == fixture.Append {
					l.link.Cut()
					onItsWay.open()
					return lastWord
				}
				return nil
			}))
			l.link.Put(link.Fail, l.ofCalls(func(int) link.Fault { return lastWord }))
			l.hostFar(worker.Options{Identity: "far", MaxConcurrentActivityExecutionSize: 1}, b.counted(connect))
			w := b.worker(worker.Options{}, runCutOff(b.options(linkHeartbeat), tc.tool, store))
			condition(w, "the old host's word has come", heard.isOpen)
			condition(w, "the end", func() bool { return true })
			run := b.start()
			b.awaitLines(store, tc.lines)
			pid = b.processes()[0]

			// The host that is there when the first is gone.
			var closedFirst atomic.Bool
			b.host(worker.Options{Identity: "near", MaxConcurrentActivityExecutionSize: 1}, session.Options{Servers: []session.Server{
				b.counted(func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
					closedFirst.Store(closed())
					return connect(ctx, arg)
				}),
			}})
			if tc.tool == fixture.Append {
				b.wait(onItsWay, "the result of the call")
			}
			cut := time.Now()
			l.link.Cut()
			b.eventually("the session is closed", closed)
			b.toldAfter(cut, "the session was closed")
			b.eventually("the second block is used", func() bool { return slices.Contains(b.lines(store), "new") })
			b.toldAfter(cut, "the second block was used")
			l.link.Heal()
			healed.open()
			var got cutOff
			if err := run.Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			t.Logf("closed before the next connector ran: %v; reports of failures: %d", closedFirst.Load(), l.link.Count(link.Fail))
			b.wantCutOff(got)
			b.wantOldBeforeNew(store)
			b.wantConnects("here", "here", "here")
		})
	}
}

// ofCalls lets choose put a fault on the reports of calls, by their number.
func (l *linked) ofCalls(choose func(calls int) link.Fault) link.Fault {
	var calls atomic.Int32
	return func(ctx context.Context, request any, forward link.Forward) (any, error) {
		token := request.(interface{ GetTaskToken() []byte }).GetTaskToken()
		if l.link.Task(token).ActivityType == queue.OperationActivity("counter", queue.OperationCallTool) {
			if fault := choose(int(calls.Add(1))); fault != nil {
				return fault(ctx, request, forward)
			}
		}
		return forward(ctx)
	}
}

// wantCutOff fails the test unless the run was told of the loss, and its second
// and third block were new.
func (b *bundle) wantCutOff(got cutOff) {
	b.Helper()
	if f := got.Lost; f.Type != failure.TypeDedicatedWorker || f.Details.Reason != failure.ReasonHostLost || f.Ran != failure.RanUnknown || f.Details.Host != "far" || f.Details.Attempt != 1 {
		b.Errorf("the call that ran ended with %+v", f)
	}
	if f := got.Later; f.Type != failure.TypeDedicatedWorker || f.Details.Reason != failure.ReasonHostLost || f.Ran != failure.RanNo {
		b.Errorf("the call after it ended with %+v", f)
	}
	if want := []string{"far", "near", "far"}; !slices.Equal(got.Hosts, want) {
		b.Errorf("the blocks were on %q, want %q", got.Hosts, want)
	}
	if want := []string{"1", "2", "0"}; !slices.Equal(got.Counts, want) {
		b.Errorf("the counters are %q, want %q", got.Counts, want)
	}
}

// wantOldBeforeNew fails the test unless the store has nothing of the old session
// after the first line of the new one.
func (b *bundle) wantOldBeforeNew(store string) {
	b.Helper()
	lines := b.lines(store)
	first := slices.Index(lines, "new")
	if first < 1 {
		b.Fatalf("the store has %q", lines)
	}
	if late := slices.Index(lines[first:], "old"); late >= 0 {
		b.Errorf("the old session has written %d lines after the new one", len(lines[first:]))
	}
}

// remoteSite is a site whose server is in another process.
func (b *bundle) remoteSite() *site {
	b.Helper()
	address, err := url.Parse(b.process("http"))
	if err != nil {
		b.Fatal(err)
	}
	s := b.site(fixture.NewHTTP(nil))
	forward := httputil.NewSingleHostReverseProxy(address)
	forward.FlushInterval = -1
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	s.put(func(w http.ResponseWriter, request *http.Request, _ string) bool {
		forward.ServeHTTP(w, request)
		return true
	})
	return s
}
