package tests

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A worker that is stopped ends its sessions, whatever its WorkerStopTimeout is:
// when Stop returns, the MCP server's process is gone, the workflow has been told
// why, and a call in flight has failed with what is known of its tool (C2). No
// other session is opened, though another host runs.
func TestWorkerStopped(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stopTimeout time.Duration
		inCall      bool
	}{
		"no timeout, idle":      {0, false},
		"no timeout, in a call": {0, true},
		"10 s, idle":            {10 * time.Second, false},
		"10 s, in a call":       {10 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			host := b.host(worker.Options{WorkerStopTimeout: tc.stopTimeout}, session.Options{})
			d := b.drive(b.options(longHeartbeat))
			block := d.open()
			pid := block.pid()
			b.startHost(hostConfig{Name: "other"})

			ran := b.file("ran")
			var pending *step
			if tc.inCall {
				// A tool of 2 s that is cancelled does not take them.
				pending = block.beginCall(fixture.Append, fixture.AppendArguments{File: ran, Line: "ran", Sleep: 2 * time.Second})
				b.awaitLines(ran, 1)
			}
			stopped := time.Now()
			host.Stop()
			if !gone(pid) {
				t.Error("the MCP server's process was there when Stop returned")
			}
			b.toldAfter(stopped, "Stop returned")
			b.awaitSessionEnd(d.run)
			b.toldAfter(stopped, "the workflow was told")
			if tc.inCall {
				b.wantLoss(pending.err(), failure.ReasonWorkerStopped, failure.RanUnknown)
				b.toldAfter(stopped, "the call failed")
			}
			details := b.wantLoss(block.callUnscheduled(), failure.ReasonWorkerStopped, failure.RanNo)
			if details.Attempt != 1 || details.Host != block.Host || details.OpenedAt.IsZero() {
				t.Errorf("the failure names attempt %d on %q at %v", details.Attempt, details.Host, details.OpenedAt)
			}
			b.wantLoss(block.close(), failure.ReasonWorkerStopped, "")
			b.wantConnects("here")
			if n := len(b.lines(ran)); n > 1 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}

// A stopping is told when the stop of its worker has come to the plugins.
type stopping struct {
	worker.PluginBase
	*latch
}

func (stopping) Name() string { return "stopping" }

func (s stopping) StopWorker(ctx context.Context, options worker.PluginStopWorkerOptions,
	next func(context.Context, worker.PluginStopWorkerOptions)) {
	s.open()
	next(ctx, options)
}

// With a DrainTimeout a worker that is stopped goes on to serve its open blocks
// until their workflows, which another worker runs, have closed them. It opens no
// other.
func TestWorkerDrains(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	plugin := stopping{latch: newLatch()}
	host := b.host(worker.Options{
		Plugins: []worker.Plugin{plugin},
		// Each poll that is out when the stop begins may still bring a session, which
		// is passed on: more of them than opening has attempts.
		MaxConcurrentActivityTaskPollers: 5,
	}, session.Options{DrainTimeout: testTimeout})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	pid := block.pid()

	stopped := newLatch()
	go func() { host.Stop(); stopped.open() }()
	b.wait(plugin.latch, "the stop")
	b.startHost(hostConfig{Name: "other"})
	another := d.open()
	if another.Host != "other" {
		t.Errorf("a host that drains has opened a block: %q", another.Host)
	}
	block.must(fixture.Incr)
	block.wantCounter(2)
	if stopped.isOpen() {
		t.Error("Stop returned while a block was open")
	}
	if err := block.close(); err != nil {
		t.Error(err)
	}
	b.wait(stopped, "Stop to return")
	if !gone(pid) {
		t.Error("the MCP server's process was there when Stop returned")
	}
	if err := another.close(); err != nil {
		t.Error(err)
	}
}

// A block that is not closed within DrainTimeout is lost like any other.
func TestWorkerDrainTimeoutPasses(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	host := b.host(worker.Options{}, session.Options{DrainTimeout: 100 * time.Millisecond})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	host.Stop()
	b.awaitSessionEnd(d.run)
	b.wantLoss(block.callUnscheduled(), failure.ReasonWorkerStopped, failure.RanNo)
}

// A host process that gets SIGTERM, stops its worker and exits at once has told
// of its lost sessions by then.
func TestHostTerminated(t *testing.T) {
	t.Parallel()
	for name, inCall := range map[string]bool{"idle": false, "in a call": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			host := b.startHost(hostConfig{Name: "first"})
			d := b.drive(b.options(longHeartbeat))
			block := d.open()
			pid := block.pid()
			var pending *step
			if inCall {
				began := b.file("began")
				pending = block.beginCall(fixture.Block, fixture.BlockArguments{Began: began})
				b.awaitLines(began, 1)
			}
			terminated := time.Now()
			host.Signal(syscall.SIGTERM)
			b.awaitExit(host)
			b.toldAfter(terminated, "the host was gone")
			if !gone(pid) {
				t.Error("the MCP server's process has outlived its host")
			}
			if inCall {
				b.wantLoss(pending.err(), failure.ReasonWorkerStopped, failure.RanUnknown)
			}
			b.awaitSessionEnd(d.run)
			b.toldAfter(terminated, "the workflow was told")
			details := b.wantLoss(block.callUnscheduled(), failure.ReasonWorkerStopped, failure.RanNo)
			b.wantOpenedBy(details, "first")
			b.wantConnects("first")
		})
	}
}

// awaitExit waits until a host process has ended by itself, without an error.
func (b *bundle) awaitExit(h *fixture.Process) {
	b.Helper()
	select {
	case <-h.Gone():
	case <-b.ctx.Done():
		b.Fatalf("host process %d does not end", h.Pid())
	}
	if !h.State().Success() {
		b.Errorf("host process %d: %v", h.Pid(), h.State())
	}
}

// Without the plugin a worker ends its sessions when it stops as well, and tells
// of it if its WorkerStopTimeout leaves the time. If it leaves none the loss is
// told all the same, once the heartbeats have stopped.
func TestWorkerStoppedWithoutPlugin(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stopTimeout time.Duration
		reasons     []failure.Reason
	}{
		"with time":    {30 * time.Second, []failure.Reason{failure.ReasonWorkerStopped}},
		"without time": {0, []failure.Reason{failure.ReasonWorkerStopped, failure.ReasonHostLost}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			w := worker.New(b.client, b.hosts(), worker.Options{WorkerStopTimeout: tc.stopTimeout, DisableWorkflowWorker: true})
			if err := session.Register(w, b.counted(ownedFixture(b.taskQueue))); err != nil {
				t.Fatal(err)
			}
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.Stop)
			d := b.drive(b.options(shortHeartbeat))
			block := d.open()
			block.must(fixture.Incr)
			block.wantCounter(1)
			pid := block.pid()
			b.startHost(hostConfig{Name: "other"})

			stopped := time.Now()
			w.Stop()
			b.awaitGone(pid)
			b.toldAfter(stopped, "the MCP server was gone")
			b.awaitSessionEnd(d.run)
			b.toldAfter(stopped, "the workflow was told")
			err := block.callUnscheduled()
			if details, ok := failure.DedicatedWorker(err); !ok || !slices.Contains(tc.reasons, details.Reason) {
				t.Errorf("reason %q, want one of %v: %v", details.Reason, tc.reasons, err)
			}
			b.wantConnects("here")
		})
	}
}

// Register says what is wrong with a server before any worker runs.
func TestRegisterRefusesAServerWithoutAName(t *testing.T) {
	t.Parallel()
	err := session.Register(nil, session.Server{Connect: ownedFixture("")})
	if err == nil {
		t.Fatal("a server without a name was registered")
	}
	mentions(t, err.Error(), "Server.Name")
	if errors.Unwrap(err) == nil {
		t.Error("the error wraps none")
	}
}
