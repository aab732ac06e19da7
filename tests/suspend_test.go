//go:build unix

package tests

import (
	"syscall"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A host is stopped for longer than its heartbeat timeout, with a call already
// handed to it, while its MCP server is alive. The block is lost, and its run
// opens another on another host. When the first host wakes up it must find that
// it is no longer the owner before it does anything else: it makes no call, ends
// its server, and stays out of the new block's way.
func TestHostSuspended(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	// A host that is full doesn't poll, so no later session is handed to it while
	// it sleeps.
	first := b.startHost(hostConfig{Name: "first", Sessions: 1})
	// Long enough for the call to be handed to it.
	d := b.drive(b.options(3 * shortHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	pid := block.pid()

	suspended := time.Now()
	first.signal(syscall.SIGSTOP)
	effects := b.file("effects")
	pending := block.beginCall(fixture.Append, fixture.AppendArguments{File: effects, Line: "too late"})
	// The poll that the host has out takes it.
	b.eventually("the call was handed to the sleeping host", d.callStarted)
	b.startHost(hostConfig{Name: "second"})
	b.wantOpenedBy(b.wantLoss(pending.err(), failure.ReasonHostLost, failure.RanUnknown), "first")
	b.toldAfter(suspended, "the call failed")
	again := d.open()
	if again.Host != "second" || again.Instance == block.Instance {
		t.Fatalf("the new block is on host %q as instance %q", again.Host, again.Instance)
	}
	again.must(fixture.Incr)
	if gone(pid) {
		t.Fatal("the first host's server has ended though its host sleeps; this test proves nothing")
	}

	woken := time.Now()
	first.signal(syscall.SIGCONT)
	b.awaitGone(pid)
	b.toldAfter(woken, "the first host's server was gone")
	again.must(fixture.Incr)
	again.wantCounter(2)
	b.wantLoss(block.callUnscheduled(), failure.ReasonHostLost, failure.RanNo)
	if err := again.close(); err != nil {
		t.Error(err)
	}
	// The first host lets go of what it was handed, and is of use again.
	first.signal(syscall.SIGTERM)
	b.awaitExit(first)
	if lines := b.lines(effects); len(lines) != 0 {
		t.Errorf("the first host has called a tool after it woke: %v", lines)
	}
	b.wantConnects("first", "second")
}

// A host dies with a Close under way: Close returns the loss, since nobody can
// say how the session ended.
func TestHostKilledWhileClosing(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	host := b.startHost(hostConfig{Name: "only", Sessions: 1})
	d := b.drive(b.options(3 * shortHeartbeat))
	block := d.open()
	host.signal(syscall.SIGSTOP)
	closing := d.step("close", block.Index)
	b.eventually("the sleeping host was told to close", func() bool {
		pending := d.pendingActivity(queue.OperationActivity("counter", queue.OperationCloseSession))
		return pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED
	})
	host.kill()
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
	host.signal(syscall.SIGSTOP)
	pending := block.beginCall(fixture.Incr, nil)
	b.eventually("the call was handed to the sleeping host", d.callStarted)
	host.signal(syscall.SIGCONT)
	if text, err := pending.text(); err != nil || text != "2" {
		t.Errorf("the call returned %q, %v; want 2", text, err)
	}
	block.wantCounter(2)
	if err := block.close(); err != nil {
		t.Error(err)
	}
	b.wantConnects("only")
}
