package browser_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/examples/browser"
	"github.com/mcpsession/mcpsession/examples/browser/playwright"
	"github.com/mcpsession/mcpsession/examples/browser/shop"
	"github.com/mcpsession/mcpsession/examples/internal/testserver"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// testTimeout bounds every wait of a test. A browser takes long to start where
// many do.
const testTimeout = 5 * time.Minute

// The ways to the MCP server.
const (
	stdio = "stdio"
	http  = "http"
)

// A bundle is what a test has to itself: a task queue, a worker that runs the
// workflows of it, a shop, and a directory that all its browsers work in.
type bundle struct {
	*testing.T
	ctx       context.Context
	client    client.Client
	taskQueue string
	scratch   string
	shop      *shop.Shop
	url       string // the shop's

	connect transport.Connector
	remote  *playwright.Server // nil over stdio
}

// setup makes a bundle whose sessions go over stdio or HTTP. It starts no host.
func setup(t *testing.T, way string) *bundle {
	t.Helper()
	if missing != nil {
		t.Skip(missing)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	c := server.Dial(ctx, t)
	b := &bundle{
		T: t, ctx: ctx, client: c, shop: new(shop.Shop),
		taskQueue: testserver.TaskQueue(t),
	}
	// A short path: there will be sockets in it.
	scratch, err := os.MkdirTemp("", "browser-")
	if err != nil {
		t.Fatal(err)
	}
	b.scratch = scratch
	t.Cleanup(func() {
		if err := os.RemoveAll(b.scratch); err != nil {
			t.Error(err)
		}
	})
	if b.url, err = b.shop.Serve(ctx); err != nil {
		t.Fatal(err)
	}
	if way == stdio {
		b.connect = installed.Connector(b.scratch)
	} else {
		b.startRemote(0)
		b.connect = transport.HTTP(b.remote.URL)
	}
	b.startWorker(worker.Options{LocalActivityWorkerOnly: true})
	return b
}

// startRemote starts an MCP server over HTTP.
func (b *bundle) startRemote(port int) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	remote, err := installed.Serve(ctx, b.scratch, port, b.Output())
	if err != nil {
		cancel()
		b.Fatal(err)
	}
	b.remote = remote
	b.Cleanup(func() {
		cancel()
		_ = remote.Wait() // a test may have killed it
	})
}

// startHost starts a worker that holds sessions.
func (b *bundle) startHost() worker.Worker {
	b.Helper()
	return b.startHostOf(b.connect)
}

func (b *bundle) startHostOf(connect transport.Connector) worker.Worker {
	b.Helper()
	sessions, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name:    browser.Server,
		Connect: connect,
	}}})
	if err != nil {
		b.Fatal(err)
	}
	return b.startWorker(worker.Options{DisableWorkflowWorker: true, Plugins: []worker.Plugin{sessions}})
}

func (b *bundle) startWorker(options worker.Options) worker.Worker {
	b.Helper()
	options.DeadlockDetectionTimeout = 10 * time.Second // as in the example's worker
	w := worker.New(b.client, b.taskQueue, options)
	if !options.DisableWorkflowWorker {
		for _, workflow := range []any{browser.PlaceOrder, browser.Photograph, browser.Hold, browser.SideBySide} {
			w.RegisterWorkflow(workflow)
		}
	}
	return testserver.Start(b, w)
}

func (b *bundle) start(workflow any, args ...any) client.WorkflowRun {
	b.Helper()
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{
		ID:                       b.taskQueue,
		TaskQueue:                b.taskQueue,
		WorkflowExecutionTimeout: testTimeout, // leaves nothing on a server that goes on
	}, workflow, args...)
	if err != nil {
		b.Fatal(err)
	}
	return run
}

// pause is for a loop that waits for a condition. It ends the test if that takes too
// long.
func (b *bundle) pause(missing string) {
	b.Helper()
	select {
	case <-b.ctx.Done():
		b.Fatal(missing)
	case <-time.After(20 * time.Millisecond):
	}
}

func (b *bundle) order() browser.Order { return browser.Order{Shop: b.url, Name: "Ada", Cups: 3} }

const orderSaid = "Thank you, Ada. 3 cups of tea are on their way."

// overBoth runs a test with sessions over stdio and over HTTP.
func overBoth(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Parallel()
	for _, way := range []string{stdio, http} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t, way))
		})
	}
}
