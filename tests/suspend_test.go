//go:build unix

package tests

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A host is stopped for longer than its heartbeat timeout, while its MCP server is
// alive. The block is lost, and its run opens another on another host, whose server
// works on the same store. When the first host wakes up it must find that it is no
// longer the owner before it does anything else: it makes no further call, neither
// one that it was handed nor one that waited for its turn, ends its server or the
// server's session, and stays out of the new block's way.
func TestHostSuspended(t *testing.T) {
	t.Parallel()
	for _, overHTTP := range []bool{false, true} {
		for _, phase := range []string{"idle", "handed a call", "in a call, and one waits"} {
			name := "stdio, " + phase
			if overHTTP {
				name = "HTTP, " + phase
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := setupFaults(t)
				z := b.zombie(overHTTP)
				block := z.open()
				old := z.server(block)
				block.store("old")

				var running, pending *step
				arguments := fixture.BlockArguments{Began: b.file("began"), Until: b.file("until")}
				if phase == "in a call, and one waits" {
					running = block.beginCall(fixture.Block, arguments)
					b.awaitLines(arguments.Began, 1)
					pending = block.beginStore("too late")
					b.eventually("both calls are in the host's hands", func() bool { return b.begun(z.run, callTool) == 2 })
				}
				suspended := time.Now()
				z.first.Signal(syscall.SIGSTOP)
				if phase == "handed a call" {
					pending = block.beginStore("too late")
					// The poll that the host has out takes it.
					b.eventually("the call was handed to the sleeping host", z.callStarted)
				}
				z.second.start()
				if pending != nil {
					b.wantOpenedBy(b.wantLoss(pending.err(), failure.ReasonHostLost, failure.RanUnknown), "first")
				}
				if running != nil {
					b.wantLoss(running.err(), failure.ReasonHostLost, failure.RanUnknown)
				}
				b.awaitSessionEnd(z.run)
				b.toldAfter(suspended, "the workflow was told")
				again := z.open()
				if again.Host != "second" || again.Instance == block.Instance {
					t.Fatalf("the new block is on host %q as instance %q", again.Host, again.Instance)
				}
				again.store("new")
				if running != nil {
					// The answer that the sleeping host finds frees the place for the next.
					if err := os.WriteFile(arguments.Until, nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if z.isGone(old) {
					t.Fatal("the first host's server has ended though its host sleeps; this test proves nothing")
				}

				woken := time.Now()
				z.first.Signal(syscall.SIGCONT)
				b.eventually("the first host has closed its server", func() bool { return z.isGone(old) })
				b.toldAfter(woken, "the first host's server was closed")
				again.store("new")
				b.wantLoss(block.callUnscheduled(), failure.ReasonHostLost, failure.RanNo)
				if err := again.close(); err != nil {
					t.Error(err)
				}
				// The first host lets go of what it was handed, and is of use again.
				z.first.Signal(syscall.SIGTERM)
				b.awaitExit(z.first)
				if stored := b.lines(b.file("store")); !slices.Equal(stored, []string{"old", "new", "new"}) {
					t.Errorf("the store has %q", stored)
				}
				z.check(old)
				b.wantConnects("first", "second")
			})
		}
	}
}

// A zombie is a driver whose first host a test suspends, and whose second one takes
// the next block. Their servers have one store.
type zombie struct {
	*driver
	site   *site // nil over stdio
	first  *fixture.Process
	second *lateHost
}

func (b *bundle) zombie(overHTTP bool) *zombie {
	b.Helper()
	// A host that is full doesn't poll, so no later session is handed to it while
	// it sleeps.
	config := hostConfig{Name: "first", Sessions: 1, Calls: 1}
	z := &zombie{}
	if overHTTP {
		z.site = b.site(fixture.NewHTTP(nil))
		config.URL = z.site.URL
	}
	z.first = b.startHost(config)
	config.Name = "second"
	z.second = &lateHost{b, config}
	// Long enough for a call to be handed to the sleeping host.
	z.driver = b.drive(b.options(3 * shortHeartbeat))
	return z
}

// A lateHost is started later.
type lateHost struct {
	*bundle
	config hostConfig
}

func (l *lateHost) start() { l.Helper(); l.startHost(l.config) }

// server names the MCP server of a block: its process, or its session over HTTP.
func (z *zombie) server(k *drivenBlock) string {
	z.Helper()
	if z.site == nil {
		return k.must(fixture.Pid)
	}
	k.must(fixture.Get)
	seen := z.site.sessions()
	return seen[len(seen)-1].session
}

// isGone reports whether the server has ended, or was told to end its session.
func (z *zombie) isGone(old string) bool {
	z.Helper()
	if z.site != nil {
		return slices.Contains(z.site.sessions(), sessionRequest{old, http.MethodDelete})
	}
	pid, err := strconv.Atoi(old)
	if err != nil {
		z.Fatal(err)
	}
	return gone(pid)
}

// check fails the test unless what the server over HTTP saw is in order: once the
// new session was there, the old one was told to end, and nothing else.
func (z *zombie) check(old string) {
	z.Helper()
	if z.site == nil {
		return
	}
	var after []string
	opened := 0
	for _, r := range z.site.sessions() {
		switch {
		case r.method == "initialize":
			opened++
		case opened == 2 && r.session == old:
			after = append(after, r.method)
		}
	}
	after = slices.DeleteFunc(after, func(method string) bool { return method == "notifications/cancelled" })
	if opened != 2 || !slices.Equal(after, []string{http.MethodDelete}) {
		z.Errorf("%d sessions were opened; once there were two, the first was sent %q", opened, after)
	}
}

// store adds a line to the store; beginStore begins to.
func (k *drivenBlock) store(line string) {
	k.Helper()
	if err := k.beginStore(line).err(); err != nil {
		k.Fatal(err)
	}
}

func (k *drivenBlock) beginStore(line string) *step {
	k.Helper()
	return k.beginCall(fixture.Append, fixture.AppendArguments{File: k.file("store"), Line: line})
}

// A host is suspended while it connects, and wakes up when the run has opened
// another block: whatever it has of a server then is of no use to anybody, and goes.
func TestHostSuspendedWhileConnecting(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	first := b.startHost(hostConfig{Name: "first", Sessions: 1, Gate: b.file("gate")})
	d := b.drive(b.options(shortHeartbeat))
	opening := d.beginOpen()
	b.awaitLines(b.connectsFile(), 2)
	first.Signal(syscall.SIGSTOP)
	b.startHost(hostConfig{Name: "second", Sessions: 1})
	_, err := opening.block()
	b.wantOpenedBy(b.wantLoss(err, failure.ReasonHostLost, ""), "first")
	again := d.open()
	again.must(fixture.Incr)
	if err := os.WriteFile(b.file("gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first.Signal(syscall.SIGCONT)
	first.Signal(syscall.SIGTERM)
	b.awaitExit(first)
	again.must(fixture.Incr)
	again.wantCounter(2)
	if err := again.close(); err != nil {
		t.Error(err)
	}
	if left := b.processes(); len(left) > 1 {
		t.Errorf("besides the second host there are processes: %v", left)
	}
	b.wantConnects("first", "first waits", "second")
}

// A host dies with a Close under way: Close returns the loss, since nobody can
// say how the session ended.
func TestHostKilledWhileClosing(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	host := b.startHost(hostConfig{Name: "only", Sessions: 1})
	d := b.drive(b.options(3 * shortHeartbeat))
	block := d.open()
	host.Signal(syscall.SIGSTOP)
	closing := d.step("close", block.Index)
	b.eventually("the sleeping host was told to close", func() bool {
		pending := d.pendingActivity(queue.OperationActivity("counter", queue.OperationCloseSession))
		return pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED
	})
	host.Kill()
	b.wantLoss(closing.err(), failure.ReasonHostLost, "")
}

// callStarted reports whether a call is on its way to the session's host, as the
// server sees it.
func (d *driver) callStarted() bool {
	d.Helper()
	pending := d.pendingActivity(queue.OperationActivity("counter", queue.OperationCallTool))
	return pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED
}

// A host that is stopped for less than its heartbeat timeout goes on as if nothing
// had been: the block keeps its state, and the call that waited is made, once.
func TestHostSuspendedBriefly(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	host := b.startHost(hostConfig{Name: "only", Sessions: 1})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	host.Signal(syscall.SIGSTOP)
	pending := block.beginCall(fixture.Incr, nil)
	b.eventually("the call was handed to the sleeping host", d.callStarted)
	host.Signal(syscall.SIGCONT)
	if text, err := pending.text(); err != nil || text != "2" {
		t.Errorf("the call returned %q, %v; want 2", text, err)
	}
	block.wantCounter(2)
	if err := block.close(); err != nil {
		t.Error(err)
	}
	b.wantConnects("only")
}
