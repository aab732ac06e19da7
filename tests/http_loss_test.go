package tests

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// The server is restarted on its port between two calls: the session is lost, the
// new server sees no session of this run, and only a new block counts from zero
// (C1). Where the server has a standalone stream that tells of the loss; where it
// has none, the call does.
func TestHTTPServerRestarted(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]httpFault{"told by the stream": nil, "told by the call": withoutStream} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s, d := setupSite(t, fault)
			block := d.open()
			for range 3 {
				block.must(fixture.Incr)
			}
			restarted := time.Now()
			s.restart(fixture.NewHTTP(nil))
			if fault == nil {
				b.awaitSessionEnd(d.run)
			}
			text, err := block.call(fixture.Get, nil)
			b.toldAfter(restarted, "the call failed")
			if err == nil {
				t.Fatalf("a server that was restarted returned %q", text)
			}
			t.Log(err)
			b.wantLoss(err, failure.ReasonServerGone, failure.RanNo)
			b.awaitSessionEnd(d.run)
			b.wantLoss(block.callUnscheduled(), failure.ReasonServerGone, failure.RanNo)
			b.wantConnects("here")
			if n := s.count("initialize") + s.count("tools/call"); fault == nil && n != 0 || s.count("initialize") != 0 {
				t.Errorf("the new server has got %q", s.seen)
			}
			again := d.open()
			again.wantCounter(0)
			if err := again.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The server goes and nobody comes in its place: an idle session ends by itself, at
// once; a call beside it fails.
func TestHTTPServerGone(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]httpFault{"idle": nil, "called": withoutStream} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s, d := setupSite(t, fault)
			block := d.open()
			block.must(fixture.Incr)
			gone := time.Now()
			s.crash()
			if fault == nil {
				b.awaitSessionEnd(d.run)
				b.toldAfter(gone, "the workflow was told")
				b.wantLoss(block.callUnscheduled(), failure.ReasonServerGone, failure.RanNo)
			} else {
				_, err := block.call(fixture.Get, nil)
				b.wantLoss(err, failure.ReasonServerGone, "")
			}
			b.wantLoss(block.close(), failure.ReasonServerGone, "")
			b.wantConnects("here")
		})
	}
}

// The session's id is evicted while the server listens on (C3): the session
// activity fails, whoever tells it.
func TestHTTPSessionEvicted(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]httpFault{"told by the stream": nil, "told by the call": withoutStream} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s, d := setupSite(t, fault)
			block := d.open()
			block.must(fixture.Incr)
			s.fixture.Evict()
			_, err := block.call(fixture.Get, nil)
			ran := failure.RanNo
			if fault == nil {
				ran = "" // the session's end may come first, and the call under way
			}
			b.wantLoss(err, failure.ReasonServerGone, ran)
			b.awaitSessionEnd(d.run)
			for range 2 {
				b.wantLoss(block.callUnscheduled(), failure.ReasonServerGone, failure.RanNo)
			}
			b.wantConnects("here")
			if n := s.count("initialize"); n != 1 {
				t.Errorf("%d sessions were opened", n)
			}
		})
	}
}

// A tool that ends the server's process: the call fails as lost within moments,
// and what it did is unknown (C7c).
func TestHTTPServerExitsInACall(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	effects := b.file("effects")
	b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(transport.HTTP(b.process("http")))}})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	called := time.Now()
	_, err := block.call(fixture.Append, fixture.AppendArguments{File: effects, Line: "effect", Exit: true})
	b.toldAfter(called, "the call failed")
	t.Log(err)
	b.wantLoss(err, failure.ReasonServerGone, failure.RanUnknown)
	b.awaitSessionEnd(d.run)
	b.wantLoss(block.callUnscheduled(), failure.ReasonServerGone, failure.RanNo)
	if n := len(b.lines(effects)); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	b.wantConnects("here")
}

// The host is killed while the server lives: the loss is the host's, and no other
// host opens a session for the block, though the server would give it one (C1).
func TestHTTPHostKilled(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	s := b.site(fixture.NewHTTP(nil))
	killed := b.httpHost(s.URL)
	d := b.drive(b.options(shortHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	b.httpHost(s.URL)
	killed.Kill()
	b.awaitSessionEnd(d.run)
	b.wantLoss(block.callUnscheduled(), failure.ReasonHostLost, failure.RanNo)
	if n := s.count("initialize"); n != 1 {
		t.Errorf("%d sessions were opened", n)
	}
	again := d.open()
	again.wantCounter(0)
	if err := again.close(); err != nil {
		t.Error(err)
	}
}

// The roles of these tests: a server over HTTP, and a host of sessions on one.
func init() {
	brokenRoles["http"] = fixture.ServeHTTP
	brokenRoles["http host"] = fixture.Host(newHTTPHost)
}

// process starts this binary in a role and returns the first line that it prints.
// It ends with the test.
func (b *bundle) process(role string) string {
	b.Helper()
	return fixture.StartProcess(b, b.ctx, fixture.Environ(role, b.taskQueue)...).First
}

// An httpHost is what a host of sessions on a server over HTTP is told.
type httpHost struct{ URL, TaskQueue string }

func newHTTPHost(told httpHost, options client.Options) (worker.Worker, error) {
	return fixture.SessionWorker(options, told.TaskQueue, session.Server{Name: "counter", Connect: transport.HTTP(told.URL)})
}

// httpHost starts one in a process.
func (b *bundle) httpHost(url string) *fixture.Process {
	b.Helper()
	return fixture.StartHost(b, b.ctx, server, "http host", b.taskQueue, httpHost{url, b.hosts()})
}

// A client with keep-alive finds a server without a standalone stream gone while
// nobody calls it.
func TestHTTPKeepAlive(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	s := b.site(fixture.NewHTTP(nil))
	s.put(withoutStream)
	server := b.counted(transport.HTTP(s.URL))
	server.Client = &mcp.ClientOptions{KeepAlive: 2 * time.Second}
	b.host(worker.Options{}, session.Options{Servers: []session.Server{server}})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	b.eventually("there were pings", func() bool { return s.count("ping") > 1 })
	block.wantCounter(1)
	s.fixture.Evict()
	b.awaitSessionEnd(d.run)
	b.wantLoss(block.callUnscheduled(), failure.ReasonServerGone, failure.RanNo)
	b.wantConnects("here")
}
