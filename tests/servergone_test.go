package tests

import (
	"testing"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// The MCP server's process is killed while nobody calls it: the session ends
// within moments and says how the process ended (C7). The next call fails without
// being scheduled, and a new block has a new server.
func TestServerKilledWhileIdle(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	pid := block.pid()

	killed := time.Now()
	if err := kill(pid); err != nil {
		t.Fatal(err)
	}
	b.awaitSessionEnd(d.run)
	b.toldAfter(killed, "the workflow was told")
	err := block.callUnscheduled()
	details := b.wantLoss(err, failure.ReasonServerGone, failure.RanNo)
	mentions(t, err.Error(), "signal 9")
	if details.Attempt != 1 || details.Host != block.Host || details.OpenedAt.IsZero() {
		t.Errorf("the failure names attempt %d on %q at %v", details.Attempt, details.Host, details.OpenedAt)
	}
	b.wantLoss(block.close(), failure.ReasonServerGone, "")
	b.wantConnects("here")

	again := d.open()
	again.wantCounter(0)
	if now := again.pid(); now == pid {
		t.Error("the new block has the old server")
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
}

// The server's process is killed under a call: the call fails at once, and what
// the tool did is unknown.
func TestServerKilledInACall(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	pid := block.pid()
	began := b.file("began")
	pending := block.beginCall(fixture.Block, fixture.BlockArguments{Began: began})
	b.awaitLines(began, 1)

	killed := time.Now()
	if err := kill(pid); err != nil {
		t.Fatal(err)
	}
	err := pending.err()
	b.toldAfter(killed, "the call failed")
	if details := b.wantLoss(err, failure.ReasonServerGone, failure.RanUnknown); details.Tool != fixture.Block {
		t.Errorf("the failure names the tool %q", details.Tool)
	}
	mentions(t, err.Error(), "signal 9")
	b.wantLoss(block.callUnscheduled(), failure.ReasonServerGone, failure.RanNo)
	if n := len(b.lines(began)); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	b.wantConnects("here")
}

// The process is killed and a call is made at once: the loss may be told by
// either, and it is never another server that answers.
func TestServerKilledJustBeforeACall(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	pid := block.pid()
	killed := time.Now()
	if err := kill(pid); err != nil {
		t.Fatal(err)
	}
	text, err := block.call(fixture.Incr, nil)
	b.toldAfter(killed, "the call failed")
	if err == nil {
		t.Fatalf("a server that was killed returned %q", text)
	}
	b.wantLoss(err, failure.ReasonServerGone, "")
	b.wantConnects("here")
}

// A tool that ends the server's process: its call fails with the process's exit
// status and last words, the next call fails at once without an activity, and a
// new block works.
func TestServerExitsInACall(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	block.must(fixture.Incr)

	called := time.Now()
	_, err := block.call(fixture.Exit, fixture.ExitArguments{Status: 3, Stderr: "out of cheese"})
	b.toldAfter(called, "the call failed")
	b.wantLoss(err, failure.ReasonServerGone, failure.RanUnknown)
	mentions(t, err.Error(), "status 3", "out of cheese")
	next := block.callUnscheduled()
	b.wantLoss(next, failure.ReasonServerGone, failure.RanNo)
	b.wantLoss(block.close(), failure.ReasonServerGone, "")

	again := d.open()
	again.wantCounter(0)
	if err := again.close(); err != nil {
		t.Error(err)
	}
	b.wantConnects("here", "here")
}

// The loss of one block's server is no other block's.
func TestServerGoneIsOneBlocksLoss(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	d := b.drive(b.options(longHeartbeat))
	one, two := d.open(), d.open()
	two.must(fixture.Incr)
	if err := kill(one.pid()); err != nil {
		t.Fatal(err)
	}
	b.awaitSessionEnd(d.run)
	b.wantLoss(one.callUnscheduled(), failure.ReasonServerGone, failure.RanNo)
	two.must(fixture.Incr)
	two.wantCounter(2)
	if err := two.close(); err != nil {
		t.Error(err)
	}
	b.wantConnects("here", "here")
}

// A tool whose effect is done when its server exits is not run again, by any
// retry, and its failure says that it may have run (C10).
func TestEffectIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.host(worker.Options{}, session.Options{})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	effects := b.file("effects")
	_, err := block.call(fixture.Append, fixture.AppendArguments{File: effects, Line: "effect", Exit: true})
	b.wantLoss(err, failure.ReasonServerGone, failure.RanUnknown)
	mentions(t, err.Error(), "status 7")
	b.awaitSessionEnd(d.run)
	d.end(returns)
	if err := d.run.Get(b.ctx, nil); err != nil {
		t.Error(err)
	}
	if lines := b.lines(effects); len(lines) != 1 {
		t.Errorf("the tool ran %d times", len(lines))
	}
	b.wantConnects("here")
}
