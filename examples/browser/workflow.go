package browser

import (
	"net/url"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// Names that the workflows and the worker agree on.
const (
	TaskQueue = "browser"
	Server    = "browser" // the MCP server
)

// HostTimeout is how long the host of a browser may be silent before it counts as
// lost.
const HostTimeout = 10 * time.Second

// options are those of all blocks here. A server over HTTP that went down with its
// browser takes a while to be there again: connecting is tried for some 15 s.
var options = toolset.Options{
	Server: Server,
	Session: workflow.ActivityOptions{
		HeartbeatTimeout: HostTimeout,
		RetryPolicy:      &temporal.RetryPolicy{MaximumAttempts: 5},
	},
}

// An Order is what PlaceOrder orders, and where.
type Order struct {
	Shop string // the URL
	Name string
	Cups int
}

// A Receipt tells what became of an Order.
type Receipt struct {
	Said string          // by the shop
	Loss failure.Details // of the first browser; without a reason if it was not lost
}

// PlaceOrder orders tea at a shop that has a web page and nothing else: it fills in
// a form, and clicks twice.
//
// The browser can be lost at any moment, and the half-filled form with it, and what
// the shop knows it by. So there is no going on: PlaceOrder opens a new block, once,
// and does the whole of it again. If the loss came with the last click, nobody knows
// whether the shop has the order. But it has its number, which is the same the
// second time.
func PlaceOrder(ctx workflow.Context, order Order) (Receipt, error) {
	said, err := order.place(ctx)
	loss, lost := failure.DedicatedWorker(err)
	if lost {
		workflow.GetLogger(ctx).Warn("the browser is lost; beginning again with another", "reason", loss.Reason, "error", err)
		said, err = order.place(ctx)
	}
	return Receipt{Said: said, Loss: loss}, err
}

// place goes through the shop's pages, with a browser for this alone.
func (o Order) place(ctx workflow.Context) (said string, err error) {
	err = toolset.With(ctx, options, func(ctx workflow.Context, browser *toolset.Toolset) error {
		number := url.QueryEscape(workflow.GetInfo(ctx).WorkflowExecution.ID)
		if err := navigate(ctx, browser, o.Shop+"/?number="+number); err != nil {
			return err
		}
		if err := fill(ctx, browser, "textbox", "Your name", o.Name); err != nil {
			return err
		}
		if err := fill(ctx, browser, "spinbutton", "Cups", strconv.Itoa(o.Cups)); err != nil {
			return err
		}
		if err := click(ctx, browser, "button", "Next"); err != nil {
			return err
		}
		if err := click(ctx, browser, "button", "Order"); err != nil {
			return err
		}
		said, err = read(ctx, browser, "status")
		return err
	})
	return said, err
}
