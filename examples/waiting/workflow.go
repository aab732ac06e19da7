package waiting

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/toolset"
)

// Names that the workflows, the worker and the one who approves agree on.
const (
	Server   = "forms"    // the MCP server: fill makes a draft, submit sends it
	Approved = "approved" // the signal
)

// longest is how long an approval may take.
const longest = 7 * 24 * time.Hour

// An Outcome is what came of a form.
type Outcome struct {
	Receipt string
	Drafts  int // how often the form was filled in
}

type form struct {
	Text string `json:"text"`
}

// KeepOpen fills in a form, waits for the approval with the draft open, and submits
// it. A draft that is lost meanwhile is made again, when it is needed.
func KeepOpen(ctx workflow.Context, text string) (out Outcome, err error) {
	options := toolset.Options{Server: Server, Session: workflow.ActivityOptions{StartToCloseTimeout: longest}}
	approved, lost := false, false
	err = toolset.With(ctx, options, func(ctx workflow.Context, forms *toolset.Toolset) error {
		if err := fill(ctx, forms, text, &out); err != nil {
			return err
		}
		workflow.NewSelector(ctx).
			AddReceive(workflow.GetSignalChannel(ctx, Approved), func(c workflow.ReceiveChannel, _ bool) {
				c.Receive(ctx, nil)
				approved = true
			}).
			AddFuture(forms.Ended(ctx), func(workflow.Future) { lost = true }).
			Select(ctx)
		if lost {
			return nil // With returns the loss
		}
		return submit(ctx, forms, &out)
	})
	if !failure.IsDedicatedWorker(err) {
		return out, err
	}
	if !approved {
		workflow.GetSignalChannel(ctx, Approved).Receive(ctx, nil)
	}
	return out, toolset.With(ctx, options, func(ctx workflow.Context, forms *toolset.Toolset) error {
		if err := fill(ctx, forms, text, &out); err != nil {
			return err
		}
		return submit(ctx, forms, &out)
	})
}

// Reopen fills in a form to see that it can be, closes it, and makes it again once
// it is approved.
func Reopen(ctx workflow.Context, text string) (out Outcome, err error) {
	options := toolset.Options{Server: Server}
	err = toolset.With(ctx, options, func(ctx workflow.Context, forms *toolset.Toolset) error {
		return fill(ctx, forms, text, &out)
	})
	if err != nil {
		return out, err
	}
	workflow.GetSignalChannel(ctx, Approved).Receive(ctx, nil)
	return out, toolset.With(ctx, options, func(ctx workflow.Context, forms *toolset.Toolset) error {
		if err := fill(ctx, forms, text, &out); err != nil {
			return err
		}
		return submit(ctx, forms, &out)
	})
}

// NeverOpen waits, and submits the whole form in one call of a server that keeps
// nothing.
func NeverOpen(ctx workflow.Context, text string) (out Outcome, err error) {
	forms, err := stateless.New(ctx, stateless.Options{Server: Server})
	if err != nil {
		return out, err
	}
	workflow.GetSignalChannel(ctx, Approved).Receive(ctx, nil)
	out.Receipt, err = toolset.Call[string](ctx, forms, "submit", form{text})
	return out, err
}

func fill(ctx workflow.Context, forms *toolset.Toolset, text string, out *Outcome) error {
	_, err := toolset.Call[string](ctx, forms, "fill", form{text})
	if err == nil {
		out.Drafts++
	}
	return err
}

func submit(ctx workflow.Context, forms *toolset.Toolset, out *Outcome) (err error) {
	out.Receipt, err = toolset.Call[string](ctx, forms, "submit", nil)
	return err
}
