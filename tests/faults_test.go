package tests

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// shortHeartbeat is the heartbeat timeout where a host must be found lost. All
// other tests use one under which a slow machine loses none.
const (
	shortHeartbeat = 3 * time.Second
	longHeartbeat  = 30 * time.Second
)

// setupFaults is setup for a test in which something dies: no run or process of
// it is left at its end, and none of an earlier run of it is met.
func setupFaults(t *testing.T) *bundle {
	t.Helper()
	b := setup(t)
	b.taskQueue += "-" + strings.ToLower(rand.Text()[:8])
	if err := os.Mkdir(b.scratch(), 0o700); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(b.scratch()) })
	b.Cleanup(func() {
		deadline := time.Now().Add(30 * time.Second)
		for left := b.processes(); len(left) > 0; left = b.processes() {
			if time.Now().After(deadline) {
				b.Errorf("processes of this test are left: %v", left)
				for _, pid := range left {
					_ = kill(pid)
				}
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	return b
}

// processes returns the processes of this test that run now. Only Linux shows
// them.
func (b *bundle) processes() []int { return fixture.OwnedBy(b.taskQueue) }

// gone reports whether a process has ended. One that nobody has reaped yet has.
func gone(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// The state follows the name, which is in parentheses and may hold any.
		_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
		return bytes.HasPrefix(rest, []byte("Z")) || bytes.HasPrefix(rest, []byte("X"))
	}
	process, err := os.FindProcess(pid)
	return err != nil || process.Signal(syscall.Signal(0)) != nil
}

func kill(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Kill()
}

// awaitGone returns once a process has ended.
func (b *bundle) awaitGone(pid int) {
	b.Helper()
	b.eventually(fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
}

// scratch is a directory for the files of the test.
func (b *bundle) scratch() string { return filepath.Join(os.TempDir(), "mcpsession-"+b.taskQueue) }

// file is one of them.
func (b *bundle) file(name string) string { return filepath.Join(b.scratch(), name) }

// lines returns the lines of a file so far.
func (b *bundle) lines(file string) []string { return fixture.Lines(file) }

// awaitLines returns once a file has that many lines.
func (b *bundle) awaitLines(file string, n int) {
	b.Helper()
	b.eventually(fmt.Sprintf("%s has %d lines", filepath.Base(file), n), func() bool { return len(b.lines(file)) >= n })
}

// host starts a host of sessions in this process. It runs no workflows: those
// outlive it.
func (b *bundle) host(options worker.Options, of session.Options) worker.Worker {
	b.Helper()
	if of.Servers == nil {
		of.Servers = []session.Server{b.counted(ownedFixture(b.taskQueue))}
	}
	plugin, err := session.NewPlugin(of)
	if err != nil {
		b.Fatal(err)
	}
	options.Plugins = append(options.Plugins, plugin)
	options.DisableWorkflowWorker = true
	w := worker.New(b.client, b.hosts(), options)
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	return w
}

// begin starts the workflow "test" and sees to it that it is over at the end.
func (b *bundle) begin(options client.StartWorkflowOptions, args ...any) client.WorkflowRun {
	b.Helper()
	options.ID, options.TaskQueue = b.taskQueue, b.taskQueue
	run, err := b.client.ExecuteWorkflow(b.ctx, options, "test", args...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		// It fails if the workflow is over, as most are.
		_ = b.client.TerminateWorkflow(b.ctx, run.GetID(), "", "the test is over")
	})
	return run
}

// options are those of a block whose session a host of this test holds.
func (b *bundle) options(heartbeat time.Duration) toolset.Options {
	return toolset.Options{
		Server:  "counter",
		Session: workflow.ActivityOptions{TaskQueue: b.hosts(), HeartbeatTimeout: heartbeat},
	}
}

// counted is a server whose connector writes a line whenever it is run.
func (b *bundle) counted(connect transport.Connector) session.Server {
	return session.Server{
		Name: "counter",
		Connect: func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
			if err := fixture.AppendLine(b.connectsFile(), "here"); err != nil {
				return nil, err
			}
			return connect(ctx, arg)
		},
	}
}

// wantLoss fails the test unless err is a DedicatedWorkerFailure with the reason
// and with what is known of the tool, if that is given.
func (b *bundle) wantLoss(err error, reason failure.Reason, ran failure.ToolRan) failure.Details {
	b.Helper()
	d, ok := failure.DedicatedWorker(err)
	switch {
	case !ok:
		b.Fatalf("the error is no DedicatedWorkerFailure: %v", err)
	case d.Reason != reason, ran != "" && (d.ToolRan != ran || failure.RanOf(err) != ran):
		b.Errorf("reason %q, tool ran %q (%q); want %q, %q: %v", d.Reason, d.ToolRan, failure.RanOf(err), reason, ran, err)
	case d.Server != "counter":
		b.Errorf("the failure names the server %q", d.Server)
	}
	return d
}

// toldAfter logs how long it took to learn of a fault.
func (b *bundle) toldAfter(since time.Time, what string) {
	b.Helper()
	b.Logf("%s after %v", what, time.Since(since).Round(time.Millisecond))
}
