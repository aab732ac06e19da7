package tests

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
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
	b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(transport.HTTP(b.process("http", nil)))}})
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
	killed := b.httpHost("first", s.URL)
	d := b.drive(b.options(shortHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	b.httpHost("second", s.URL)
	_ = killed.Process.Kill()
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
	brokenRoles["http host"] = runHTTPHost
}

// urlVariable and queueVariable tell a host what it hosts and where.
const (
	urlVariable   = "MCPSESSION_TEST_URL"
	queueVariable = "MCPSESSION_TEST_QUEUE"
)

// process starts this binary in a role and returns the first line that it prints.
// It ends with the test.
func (b *bundle) process(role string, environment []string) string {
	b.Helper()
	line, _ := b.startProcess(role, environment)
	return line
}

func (b *bundle) startProcess(role string, environment []string) (string, *exec.Cmd) {
	b.Helper()
	cmd := exec.CommandContext(b.ctx, os.Args[0])
	cmd.Env = append(append(append(os.Environ(), server.Environ()...), environment...),
		roleVariable+"="+role, ownerVariable+"="+b.taskQueue, exitAtOnce)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatalf("%s does not start: %v", role, err)
	}
	return strings.TrimSpace(line), cmd
}

// httpHost starts a host of sessions on a server over HTTP, in a process.
func (b *bundle) httpHost(name, url string) *exec.Cmd {
	b.Helper()
	_, cmd := b.startProcess("http host", []string{urlVariable + "=" + url, queueVariable + "=" + b.hosts()})
	b.Logf("host %s is process %d", name, cmd.Process.Pid)
	return cmd
}

func runHTTPHost() {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "host:", err)
			os.Exit(1)
		}
	}
	options, err := envconfig.LoadDefaultClientOptions()
	fail(err)
	options.Logger = quiet{}
	c, err := client.Dial(options)
	fail(err)
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name: "counter", Connect: transport.HTTP(os.Getenv(urlVariable)),
	}}})
	fail(err)
	w := worker.New(c, os.Getenv(queueVariable), worker.Options{Plugins: []worker.Plugin{plugin}})
	fail(w.Start())
	fmt.Println("ready")
	select {} // until it is killed
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
