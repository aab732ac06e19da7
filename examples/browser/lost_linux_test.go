package browser_test

import (
	"net/url"
	"strconv"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/examples/browser"
	"github.com/mcpsession/mcpsession/failure"
)

// The browser, or the MCP server before it, is killed in the middle of the last
// click: the workflow is told that its session is lost, though Playwright MCP itself
// would go on with an empty browser, and begins again in a new block. The order is
// one.
func TestBrowserKilledOnce(t *testing.T) {
	overBothKilled(t, func(t *testing.T, b *bundle, kill func()) {
		orders := b.haltOrders()
		run := b.start(browser.PlaceOrder, b.order())
		b.atOrder(run, orders, kill)
		b.atOrder(run, orders, func() {})
		var receipt browser.Receipt
		if err := run.Get(b.ctx, &receipt); err != nil {
			t.Fatal(err)
		}
		b.wantLoss(receipt.Loss)
		if receipt.Said != orderSaid {
			t.Errorf("the shop said %q", receipt.Said)
		}
		if n := b.shop.Orders(); n != 1 {
			t.Errorf("the shop has %d orders", n)
		}
	})
}

// PlaceOrder begins again once: the second loss is its failure, with its type.
func TestBrowserKilledTwice(t *testing.T) {
	t.Parallel()
	b := setup(t, stdio)
	b.startHost()
	orders := b.haltOrders()
	run := b.start(browser.PlaceOrder, b.order())
	for range 2 {
		b.atOrder(run, orders, func() { b.kill(b.chromium()) })
	}
	err := run.Get(b.ctx, nil)
	loss, ok := failure.DedicatedWorker(err)
	if !ok {
		t.Fatalf("error %v, want a %s", err, failure.TypeDedicatedWorker)
	}
	b.wantLoss(loss)
}

// The loss of a browser that nobody calls is told at once, too.
func TestIdleBrowserKilled(t *testing.T) {
	overBoth(t, func(t *testing.T, b *bundle) {
		b.startHost()
		run := b.hold()
		b.kill(b.chromium())
		loss, ok := failure.DedicatedWorker(run.Get(b.ctx, nil))
		if !ok || loss.Reason != failure.ReasonServerGone {
			t.Errorf("the loss is %+v (%t), want reason %s", loss, ok, failure.ReasonServerGone)
		}
	})
}

// haltOrders makes the shop wait at each order until atOrder has seen to it.
func (b *bundle) haltOrders() (orders chan func()) {
	orders = make(chan func())
	b.shop.BeforeOrder = func() {
		seen := make(chan struct{})
		select {
		case orders <- func() { close(seen) }:
			<-seen
		case <-b.ctx.Done():
		}
	}
	return orders
}

// atOrder does something while an order of a run has come and the shop has not taken
// it.
func (b *bundle) atOrder(run client.WorkflowRun, orders chan func(), do func()) {
	b.Helper()
	ended := make(chan error, 1)
	go func() { ended <- run.Get(b.ctx, nil) }()
	select {
	case goOn := <-orders:
		defer goOn()
		do()
	case err := <-ended:
		b.Fatalf("no order comes; the workflow ended with %v", err)
	}
}

func (b *bundle) wantLoss(loss failure.Details) {
	b.Helper()
	if loss.Reason != failure.ReasonServerGone || loss.Server != browser.Server ||
		loss.Tool != "browser_click" || loss.ToolRan != failure.RanUnknown {
		b.Errorf("the loss is %+v, want reason %s in browser_click, which may have run", loss, failure.ReasonServerGone)
	}
}

// overBothKilled runs a test over stdio and over HTTP, with each of the processes
// that can be lost. A server over HTTP is started again by then, as by whoever looks
// after it.
func overBothKilled(t *testing.T, test func(t *testing.T, b *bundle, kill func())) {
	t.Parallel()
	for _, way := range []string{stdio, http} {
		for _, killed := range []string{"chromium", "server"} {
			t.Run(way+"/"+killed, func(t *testing.T) {
				t.Parallel()
				b := setup(t, way)
				b.startHost()
				test(t, b, func() {
					if killed == "chromium" {
						b.kill(b.chromium())
					} else {
						b.kill(b.server())
					}
					if way == http {
						b.restartRemote()
					}
				})
			})
		}
	}
}

// restartRemote starts an MCP server at the place of the one that has ended.
func (b *bundle) restartRemote() {
	b.Helper()
	_ = b.remote.Wait()
	at, err := url.Parse(b.remote.URL)
	if err != nil {
		b.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		b.Fatal(err)
	}
	b.startRemote(port)
}
