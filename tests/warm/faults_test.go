package warm

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// A process that is killed while it waits is handed out to nobody, and replaced.
func TestKilledWhileItWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.warmed(1, b.serving()))
	killed := b.awaitReady(1)[0]
	b.signal(killed, syscall.SIGKILL)
	next := b.awaitReady(2)[1]
	if v := b.block(toolset.Options{}).Result(); v.Pid != next || v.Count != "1" {
		t.Errorf("the block saw %+v, want process %d", v, next)
	}
}

// Processes that are stopped while they wait answer no ping: a block gets another in
// their place, and they end, at the latest with the worker.
func TestStoppedWhileItWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(b.warmed(3, b.serving()))
	stopped := b.awaitReady(3)
	for _, pid := range stopped {
		b.signal(pid, syscall.SIGSTOP)
	}
	if v := b.block(toolset.Options{}).Result(); slices.Contains(stopped, v.Pid) || v.Count != "1" {
		t.Errorf("the block saw %+v; the processes %v are stopped", v, stopped)
	}
	b.Eventually("the stopped processes are gone", func() bool {
		return !slices.ContainsFunc(b.Processes(), func(pid int) bool { return slices.Contains(stopped, pid) })
	})
	last := b.awaitReady(4)[3]
	if slices.Contains(b.Processes(), last) {
		b.signal(last, syscall.SIGSTOP)
	}
	w.Stop()
	b.wantNobody("when Stop returned")
}

// A block that loses its process does not give it back: the next blocks get others,
// and as many wait as before (C12).
func TestLostProcessIsNotGivenBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.warmed(2, b.serving()))
	b.awaitReady(2)
	lost := fixture.Begin(b.Bundle, func(ctx workflow.Context) (reasons []failure.Reason, err error) {
		for range 2 {
			err := toolset.With(ctx, toolset.Options{Server: "server"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
				_, err := ts.CallTool(ctx, fixture.Exit, fixture.ExitArguments{Status: 9})
				return err
			})
			details, _ := failure.DedicatedWorker(err)
			reasons = append(reasons, details.Reason)
		}
		return reasons, nil
	}).Result()
	if !slices.Equal(lost, []failure.Reason{failure.ReasonServerGone, failure.ReasonServerGone}) {
		t.Errorf("the blocks were lost for %v", lost)
	}
	used := make(map[int]bool)
	for range 10 {
		v := b.block(toolset.Options{}).Result()
		if v.Count != "1" || used[v.Pid] {
			t.Errorf("a block saw the count %s in process %d", v.Count, v.Pid)
		}
		used[v.Pid] = true
	}
	b.Eventually("two wait", func() bool { return len(b.noted("ready")) == 14 && len(b.Processes()) == 2 })
}

// A server that does not start is started again after pauses, and blocks open as they
// do without warm sessions: they fail while it fails.
func TestServerFailsToStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.serving()
	s.FailUntil = b.File("may start")
	began := time.Now()
	b.worker(b.warmed(1, s))
	b.Eventually("it was started three times", func() bool { return len(b.noted("start")) >= 3 })
	if d := time.Since(began); d < 3*time.Second {
		t.Errorf("three starts took %v, want pauses of 1 s and 2 s", d)
	}
	failed := fixture.Begin(b.Bundle, func(ctx workflow.Context) (bool, error) {
		_, err := look(ctx, toolset.Options{})
		return failure.IsOpen(err), nil
	})
	if !failed.Result() {
		t.Error("a block opened on a server that does not start, or failed otherwise")
	}
	if err := os.WriteFile(s.FailUntil, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.block(toolset.Options{}).Result()
	b.awaitReady(2) // the block's own, and one that waits
}

// A start that hangs delays no block: it opens with one of its own. Nothing is left of
// the start (C17).
func TestStartHangsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.serving()
	s.HangOnce = b.File("hung")
	w := b.worker(b.warmed(1, s))
	b.Eventually("the first start hangs", func() bool { return len(fixture.Lines(s.HangOnce)) > 0 })
	hung := b.noted("start")[0]
	if v := b.block(toolset.Options{}).Result(); v.Pid == hung || v.Count != "1" {
		t.Errorf("the block saw %+v; process %d hangs", v, hung)
	}
	if !slices.Contains(b.Processes(), hung) {
		t.Error("the start that hangs was given up before its ConnectTimeout")
	}
	w.Stop()
	b.wantNobody("when Stop returned")
}

// What is started before it is wanted neither delays nor fails the start of a worker,
// nor its stop: not with a connector that hangs, panics or fails, nor without the
// program.
func TestWorkerStartsRegardless(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	for name, connect := range map[string]transport.Connector{
		"hangs": func(ctx context.Context, _ transport.Argument) (mcp.Transport, error) {
			<-over // not heeding its context
			return nil, ctx.Err()
		},
		"panics":     func(context.Context, transport.Argument) (mcp.Transport, error) { panic("no activity") },
		"fails":      func(context.Context, transport.Argument) (mcp.Transport, error) { return nil, errors.New("no vault") },
		"no program": transport.Command("no-such-program-anywhere"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			s := b.warmed(2, b.serving())
			s.Connect = connect
			began := time.Now()
			w := b.worker(s)
			if n := fixture.Begin(b.Bundle, func(workflow.Context) (int, error) { return 7, nil }).Result(); n != 7 {
				t.Error(n)
			}
			w.Stop()
			if d := time.Since(began); d > 30*time.Second {
				t.Errorf("a worker ran one workflow in %v", d)
			}
		})
	}
}

// The stop of a worker ends a start that is under way.
func TestWorkerStopsDuringAStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.serving()
	s.Sleep = time.Hour
	w := b.worker(b.warmed(2, s))
	b.Eventually("two are being started", func() bool { return len(b.noted("start")) == 2 })
	w.Stop()
	b.wantNobody("when Stop returned")
	if n := len(b.noted("start")); n != 2 {
		t.Errorf("%d processes were started, want 2", n)
	}
}

// A host that is killed leaves no process that waits or is being started, also below a
// wrapper that does not pass on its end, given a lifeline (C14).
func TestHostKilledWhileTheyWait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		role   string
		config hostConfig
	}{
		"waiting":                            {roleHost, hostConfig{}},
		"waiting, with a lifeline":           {roleLifeline, hostConfig{}},
		"waiting, with a lifeline, wrapped":  {roleLifeline, hostConfig{Wrapped: true}},
		"starting":                           {roleHost, hostConfig{Serving: serving{Sleep: time.Hour}}},
		"starting, with a lifeline, wrapped": {roleLifeline, hostConfig{Serving: serving{Sleep: time.Hour}, Wrapped: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			test.config.Warm = 2
			test.config.Serving.Notes = b.File("notes")
			h := b.startHost(test.role, test.config)
			event := "ready"
			if test.config.Serving.Sleep > 0 {
				event = "start"
			}
			b.Eventually("two wait", func() bool { return len(b.noted(event)) == 2 })
			h.Kill()
			b.Eventually("no process is left", b.nobody)
		})
	}
}

// A block on a warm process below a wrapper leaves nothing of the tree when it is
// closed (C14).
func TestWrappedBlockEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.warmed(1, b.serving())
	s.Connect = b.serving().wrapped(b.TaskQueue)
	w := b.worker(s)
	before := b.awaitReady(1)
	if v := b.block(toolset.Options{}).Result(); !slices.Contains(before, v.Pid) {
		t.Errorf("the block had process %d, want one of %v", v.Pid, before)
	}
	b.awaitReady(2)
	b.Eventually("only the wrapper and the server that wait are left", func() bool { return len(b.Processes()) == 2 })
	w.Stop()
	b.wantNobody("when Stop returned")
}

// A host that is killed between taking a warm session and saying that it is open
// leaves no process, and the block fails to open, as it does without warm sessions;
// the next block opens with one that waits elsewhere.
func TestHostKilledAfterItTookOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.warmed(0, b.serving())) // runs the workflow
	first := b.startHost(roleHost, hostConfig{Warm: 1, Serving: b.serving(), DiesBefore: heartbeat.Opened})
	taken := b.awaitReady(1)[0]
	on := toolset.Options{}
	on.Session.TaskQueue = b.Hosts()
	on.Session.HeartbeatTimeout = 10 * time.Second
	type result struct {
		Failure failure.Details
		IsOpen  bool
		Second  visit
	}
	run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (r result, err error) {
		_, failed := look(ctx, on)
		r.Failure, r.IsOpen = failure.Open(failed)
		r.Second, err = look(ctx, on)
		return r, err
	})
	<-first.Gone()
	b.Eventually("nothing of the killed host is left", b.nobody)
	second := b.startHost(roleHost, hostConfig{Warm: 1, Serving: b.serving()})
	defer second.Kill()
	r := run.Result()
	if !r.IsOpen || r.Failure.Reason != failure.ReasonHostLost {
		t.Errorf("the first block failed with %+v", r.Failure)
	}
	if r.Second.Pid == taken || r.Second.Count != "1" {
		t.Errorf("the second block saw %+v; process %d was the first's", r.Second, taken)
	}
}
