package tests

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// callbacks is a client plugin that keeps what the SDK calls when a worker fails
// for good, by task queue. The SDK does so two minutes after a poll was first
// refused, which no test waits for; this stands in for those minutes alone.
type callbacks struct {
	*temporal.SimplePlugin
	byQueue sync.Map
}

func newCallbacks(b *bundle) *callbacks {
	b.Helper()
	plugin, err := temporal.NewSimplePlugin(temporal.SimplePluginOptions{Name: "callbacks"})
	if err != nil {
		b.Fatal(err)
	}
	return &callbacks{SimplePlugin: plugin}
}

func (c *callbacks) ConfigureWorker(_ context.Context, o worker.PluginConfigureWorkerOptions) error {
	c.byQueue.Store(o.TaskQueue, o.WorkerOptions.OnFatalError)
	return nil
}

// fail makes the worker of a queue fail for good.
func (c *callbacks) fail(taskQueue string) {
	fail, _ := c.byQueue.Load(taskQueue)
	fail.(func(error))(errors.New("the poll is refused for good"))
}

// A fatal error of the worker that serves a block's queue is the end of its
// session: the server is closed, the workflow is told at once and why, and other
// sessions of the host go on.
func TestDedicatedWorkerFails(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	fatal := newCallbacks(b)
	host := *b
	host.client = b.dial(func(o *client.Options) { o.Plugins = append(o.Plugins, fatal) })
	host.host(worker.Options{}, session.Options{})
	d := b.drive(b.options(longHeartbeat))
	block, other := d.open(), d.open()
	pid := block.pid()
	fatal.fail(block.TaskQueue)
	b.awaitSessionEnd(d.run)
	err := block.callUnscheduled()
	b.wantLoss(err, failure.ReasonDedicatedWorker, failure.RanNo)
	if !strings.Contains(err.Error(), "refused for good") {
		t.Errorf("the failure doesn't say why: %v", err)
	}
	b.awaitGone(pid)
	other.must(fixture.Incr)
	other.wantCounter(1)
	if err := other.close(); err != nil {
		t.Error(err)
	}
	b.wantConnects("here", "here")
}
