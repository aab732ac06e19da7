package browser

import (
	"strconv"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/toolset"
)

// Sight is what SideBySide has seen, in this order.
type Sight struct{ Ada, Blank, Empty, Grace, AdaAgain string }

// SideBySide fills two carts at one shop, in two blocks at once.
func SideBySide(ctx workflow.Context, url string) (seen Sight, err error) {
	err = toolset.With(ctx, options, func(ctx workflow.Context, first *toolset.Toolset) error {
		return toolset.With(ctx, options, func(ctx workflow.Context, second *toolset.Toolset) error {
			return inTurn(
				func() error { return fillCart(ctx, first, url, "Ada", 2) },
				func() (err error) { seen.Ada, err = snapshot(ctx, first); return err },
				func() (err error) { seen.Blank, err = snapshot(ctx, second); return err },
				func() error { return navigate(ctx, second, url+"/cart") },
				func() (err error) { seen.Empty, err = snapshot(ctx, second); return err },
				func() error { return fillCart(ctx, second, url, "Grace", 7) },
				func() (err error) { seen.Grace, err = snapshot(ctx, second); return err },
				func() (err error) { seen.AdaAgain, err = snapshot(ctx, first); return err },
			)
		})
	})
	return seen, err
}

func fillCart(ctx workflow.Context, browser *toolset.Toolset, url, name string, cups int) error {
	return inTurn(
		func() error { return navigate(ctx, browser, url) },
		func() error { return fill(ctx, browser, "textbox", "Your name", name) },
		func() error { return fill(ctx, browser, "spinbutton", "Cups", strconv.Itoa(cups)) },
		func() error { return click(ctx, browser, "button", "Next") },
	)
}

func snapshot(ctx workflow.Context, browser *toolset.Toolset) (string, error) {
	result, err := call(ctx, browser, "browser_snapshot", nil)
	if err != nil {
		return "", err
	}
	return textOf(result), nil
}

func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// What Hold listens to.
const (
	OpenedUpdate  = "opened"
	ReleaseSignal = "release"
)

// Hold opens a page and keeps it until it is released or cancelled, or the browser
// is lost.
func Hold(ctx workflow.Context, url string) error {
	opened, settle := workflow.NewFuture(ctx)
	err := workflow.SetUpdateHandler(ctx, OpenedUpdate, func(ctx workflow.Context) error { return opened.Get(ctx, nil) })
	if err != nil {
		return err
	}
	return toolset.With(ctx, options, func(ctx workflow.Context, browser *toolset.Toolset) error {
		if err := navigate(ctx, browser, url); err != nil {
			return err
		}
		settle.SetValue(nil)
		workflow.NewSelector(ctx).
			AddReceive(workflow.GetSignalChannel(ctx, ReleaseSignal), func(workflow.ReceiveChannel, bool) {}).
			AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { err = ctx.Err() }).
			AddFuture(browser.Ended(ctx), func(f workflow.Future) { err = f.Get(ctx, nil) }).
			Select(ctx)
		return err
	})
}

// FindElement returns the reference and the text of an element in a snapshot.
func FindElement(snapshot, role, name string) (ref, text string, err error) {
	found, err := findElement(snapshot, role, name)
	return found.ref, found.text, err
}
