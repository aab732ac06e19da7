package tests

import (
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// wantConnects fails the test unless exactly these have run a connector.
func (b *bundle) wantConnects(want ...string) {
	b.Helper()
	if got := b.connects(); !slices.Equal(got, want) {
		b.Errorf("connectors were run by %q, want %q", got, want)
	}
}

// wantOpenedBy fails the test unless the details name who opened the session.
func (b *bundle) wantOpenedBy(d failure.Details, host string) {
	b.Helper()
	if d.Host != host || d.Attempt != 1 || d.OpenedAt.IsZero() {
		b.Errorf("the failure says that attempt %d on %q opened the session at %v; want attempt 1 on %q", d.Attempt, d.Host, d.OpenedAt, host)
	}
}

// A host is killed while its session is idle, in a call, or just before one. Once its
// heartbeat timeout has passed the workflow knows whose session was lost, at the same
// time whether there is another host or none: a call that waits fails then, long
// before any timeout of its own (C5), and what its tool did is unknown; the next one
// fails without being scheduled. No other host opens a session for the block; a new
// block starts anew.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	const idle, inFlight, notTaken = "idle", "in a call", "before a call"
	for _, when := range []string{idle, inFlight, notTaken} {
		for _, alone := range []bool{false, true} {
			name := when
			if alone {
				name += ", with no other"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := setupFaults(t)
				first := b.startHost(hostConfig{Name: "first"})
				options := b.options(shortHeartbeat)
				options.Session.ScheduleToStartTimeout = testTimeout
				d := b.drive(options)
				block := d.open()
				block.must(fixture.Incr)
				pid := block.pid()
				if !alone {
					b.startHost(hostConfig{Name: "second"})
				}

				began := b.file("began")
				var pending *step
				if when == inFlight {
					pending = block.beginCall(fixture.Block, fixture.BlockArguments{Began: began})
					b.awaitLines(began, 1)
				}
				killed := time.Now()
				first.Kill()
				if when == notTaken {
					pending = block.beginCall(fixture.Block, fixture.BlockArguments{Began: began})
				}
				if pending != nil {
					details := b.wantLoss(pending.err(), failure.ReasonHostLost, failure.RanUnknown)
					b.toldAfter(killed, "the call failed")
					b.wantOpenedBy(details, "first")
					if details.Tool != fixture.Block {
						t.Errorf("the failure names the tool %q", details.Tool)
					}
				}
				b.awaitSessionEnd(d.run)
				b.toldAfter(killed, "the workflow was told")
				b.wantOpenedBy(b.wantLoss(block.callUnscheduled(), failure.ReasonHostLost, failure.RanNo), "first")
				b.wantLoss(block.close(), failure.ReasonHostLost, "")
				b.awaitGone(pid)
				b.wantConnects("first")
				if n := len(b.lines(began)); (when == inFlight) != (n == 1) {
					t.Errorf("the tool ran %d times", n)
				}
				if alone {
					return
				}
				again := d.open()
				if again.Host != "second" || again.Instance == block.Instance {
					t.Errorf("the new block is on host %q as instance %q", again.Host, again.Instance)
				}
				again.wantCounter(0)
				if err := again.close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A block whose host is dead, which nobody knows yet, is closed: Close returns
// the loss as soon as it is known, and the run may go on.
func TestCloseAfterItsHostDied(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	host := b.startHost(hostConfig{Name: "only"})
	d := b.drive(b.options(shortHeartbeat))
	block := d.open()
	host.Kill()
	killed := time.Now()
	b.wantOpenedBy(b.wantLoss(block.close(), failure.ReasonHostLost, ""), "only")
	b.toldAfter(killed, "Close returned")
	// Closed twice, it says the same.
	b.wantLoss(block.close(), failure.ReasonHostLost, "")
	_, err := block.call(fixture.Get, nil)
	if !failure.IsSessionClosed(err) || failure.RanOf(err) != failure.RanNo {
		t.Errorf("a call after Close: %v", err)
	}
}

// A call that may wait for its host less long than the host's heartbeat timeout
// fails by its own timeout, after its host was killed. Whether its tool has run is
// unknown.
func TestCallTimesOutAfterItsHostDied(t *testing.T) {
	t.Parallel()
	for name, inFlight := range map[string]bool{"in flight": true, "not taken": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			host := b.startHost(hostConfig{Name: "only"})
			options := b.options(longHeartbeat)
			options.CallTimeout = 3 * time.Second
			options.Operation.StartToCloseTimeout = 3 * time.Second
			options.Operation.ScheduleToStartTimeout = 3 * time.Second
			d := b.drive(options)
			block := d.open()
			arguments := fixture.BlockArguments{Began: b.file("began")}
			var pending *step
			if inFlight {
				pending = block.beginCall(fixture.Block, arguments)
				b.awaitLines(arguments.Began, 1)
				host.Kill()
			} else {
				host.Kill()
				pending = block.beginCall(fixture.Block, arguments)
			}
			err := pending.err()
			details, ok := failure.Call(err)
			// That it was not taken is not known: a reset by an operator leaves no more
			// trace of an attempt that was.
			if !ok || details.Reason != failure.ReasonActivityTimeout || details.ToolRan != failure.RanUnknown {
				t.Errorf("CallFailure %v, details %+v, want that it is unknown whether the tool ran: %v", ok, details, err)
			}
		})
	}
}

// A host is killed while it opens a block. Before it could say that a session may be
// open, while the user's connector runs, nothing was opened, and the other host opens
// the block. Between that and the end of the handshake a session may have been open:
// no other is opened, Open says that it was lost before any tool ran, and only the
// workflow may open another.
func TestHostKilledWhileOpening(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first    hostConfig
		connects []string // by the time it is killed
		lost     bool
	}{
		"in its connector": {hostConfig{Name: "first", HangConnector: true}, []string{"first"}, false},
		"while connecting": {hostConfig{Name: "first", HangConnect: true}, []string{"first", "first hangs"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			first := b.startHost(tc.first)
			d := b.drive(b.options(shortHeartbeat))
			opening := d.beginOpen()
			b.awaitLines(b.connectsFile(), len(tc.connects))
			b.startHost(hostConfig{Name: "second"})
			killed := time.Now()
			first.Kill()
			block, err := opening.block()
			b.toldAfter(killed, "Open returned")
			if tc.lost {
				b.wantOpenedBy(b.wantLoss(err, failure.ReasonHostLost, ""), "first")
				details, ok := failure.Open(err)
				if !ok || details.Reason != failure.ReasonHostLost || details.ToolRan != failure.RanNo || failure.RanOf(err) != failure.RanNo {
					t.Errorf("OpenFailure %v, details %+v: %v", ok, details, err)
				}
				b.wantConnects(tc.connects...)
				block, err = d.tryOpen()
			}
			if err != nil {
				t.Fatal(err)
			}
			if block.Host != "second" {
				t.Errorf("the block is on host %q", block.Host)
			}
			block.must(fixture.Incr)
			block.wantCounter(1)
			if err := block.close(); err != nil {
				t.Error(err)
			}
			b.wantConnects(append(tc.connects, "second")...)
		})
	}
}

// A worker that runs the workflow and holds its session is killed, with a call in
// flight: the workflow goes on on another worker, which replays it, and learns of
// the loss there.
func TestWorkerKilledWithItsWorkflow(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	first := b.startHost(hostConfig{Name: "first", Drives: true})
	d := &driver{bundle: b, run: b.begin(client.StartWorkflowOptions{})}
	block := d.open()
	block.must(fixture.Incr)
	began := b.file("began")
	pending := block.beginCall(fixture.Block, fixture.BlockArguments{Began: began})
	b.awaitLines(began, 1)
	b.startHost(hostConfig{Name: "second", Drives: true})
	killed := time.Now()
	first.Kill()
	b.wantOpenedBy(b.wantLoss(pending.err(), failure.ReasonHostLost, failure.RanUnknown), "first")
	b.toldAfter(killed, "the call failed")
	b.wantLoss(block.callUnscheduled(), failure.ReasonHostLost, failure.RanNo)
	b.wantConnects("first")
	again := d.open()
	again.wantCounter(0)
	if err := again.close(); err != nil {
		t.Error(err)
	}
	b.wantConnects("first", "second")
}
