package browser_test

import (
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/examples/browser"
	"github.com/mcpsession/mcpsession/failure"
)

// However a block ends, its browser ends with it, to the last process (C14): of a
// server over stdio everything, of one over HTTP the browser.
func TestNothingIsLeft(t *testing.T) {
	for name, end := range map[string]func(b *bundle, host worker.Worker, run client.WorkflowRun){
		"close": func(b *bundle, _ worker.Worker, run client.WorkflowRun) {
			b.release(run)
			if err := run.Get(b.ctx, nil); err != nil {
				b.Error(err)
			}
		},
		"cancel": func(b *bundle, _ worker.Worker, run client.WorkflowRun) {
			if err := b.client.CancelWorkflow(b.ctx, run.GetID(), run.GetRunID()); err != nil {
				b.Error(err)
			}
			if err := run.Get(b.ctx, nil); !temporal.IsCanceledError(err) {
				b.Errorf("the workflow ended with %v", err)
			}
		},
		"terminate": func(b *bundle, _ worker.Worker, run client.WorkflowRun) { b.terminate(run) },
		"stop of the worker": func(b *bundle, host worker.Worker, run client.WorkflowRun) {
			host.Stop()
			loss, ok := failure.DedicatedWorker(run.Get(b.ctx, nil))
			if !ok || loss.Reason != failure.ReasonWorkerStopped {
				b.Errorf("the loss is %+v", loss)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, b *bundle) {
				host := b.startHost()
				run := b.hold()
				tree := b.wantTree(b.remote == nil)
				end(b, host, run)
				b.awaitBrowserGone(tree)
			})
		})
	}
}

// The worker is killed. Over stdio its lifeline ends everything; over HTTP the
// server notices that nobody answers any more.
func TestNothingIsLeftByAKilledWorker(t *testing.T) {
	overBoth(t, func(t *testing.T, b *bundle) {
		var arguments []string
		if b.remote != nil {
			arguments = []string{"-url", b.remote.URL}
		}
		host := b.program("worker", append(arguments, "-task-queue", b.taskQueue)...)
		run := b.hold()
		tree := b.wantTree(b.remote == nil)
		if err := host.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = host.Wait()
		b.awaitBrowserGone(tree)
		loss, ok := failure.DedicatedWorker(run.Get(b.ctx, nil))
		if !ok || loss.Reason != failure.ReasonHostLost {
			t.Errorf("the loss is %+v (%t), want reason %s", loss, ok, failure.ReasonHostLost)
		}
	})
}

// A server that can't be started, and a browser that can't.
func TestNothingIsLeftOfWhatDoesNotStart(t *testing.T) {
	t.Parallel()
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		b := setup(t, stdio)
		broken := installed
		broken.Directory = t.TempDir()
		b.startHostOf(broken.Connector(b.scratch))
		err := b.start(browser.Hold, b.url).Get(b.ctx, nil)
		if open, ok := failure.Open(err); !ok || open.Reason != failure.ReasonConnect || !strings.Contains(err.Error(), "Cannot find module") {
			t.Errorf("error %v, want an %s that says that there is no module", err, failure.TypeOpen)
		}
		b.awaitGone(nil)
	})
	t.Run("browser", func(t *testing.T) {
		t.Parallel()
		b := setup(t, stdio)
		broken := installed
		broken.Chromium = filepath.Join(t.TempDir(), "chromium")
		b.startHostOf(broken.Connector(b.scratch))
		err := b.start(browser.Hold, b.url).Get(b.ctx, nil)
		if err == nil || failure.IsOpen(err) || failure.IsDedicatedWorker(err) || !strings.Contains(err.Error(), broken.Chromium) {
			t.Errorf("error %v, want the tool's own, which names the browser", err)
		}
		b.awaitGone(nil)
	})
}

// hold starts a Hold workflow and returns when its page is open.
func (b *bundle) hold() client.WorkflowRun {
	b.Helper()
	run := b.start(browser.Hold, b.url)
	update, err := b.client.UpdateWorkflow(b.ctx, client.UpdateWorkflowOptions{
		WorkflowID:   run.GetID(),
		RunID:        run.GetRunID(),
		UpdateName:   browser.OpenedUpdate,
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = update.Get(b.ctx, nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	return run
}

func (b *bundle) release(run client.WorkflowRun) {
	b.Helper()
	if err := b.client.SignalWorkflow(b.ctx, run.GetID(), run.GetRunID(), browser.ReleaseSignal, nil); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) terminate(run client.WorkflowRun) {
	b.Helper()
	if err := b.client.TerminateWorkflow(b.ctx, run.GetID(), run.GetRunID(), "the test has seen enough"); err != nil {
		b.Error(err)
	}
}

// awaitBrowserGone returns when all that runs is the server over HTTP, if there is
// one. After that has been told to end there is nothing.
func (b *bundle) awaitBrowserGone(tree map[int]process) {
	b.Helper()
	if b.remote == nil {
		b.awaitGone(tree)
		return
	}
	delete(tree, b.remote.PID())
	b.awaitGone(tree, b.remote.PID())
	if _, ok := readProcess(b.remote.PID()); !ok {
		b.Error("the server has ended, too")
	}
}
