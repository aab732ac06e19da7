package session

import (
	"fmt"

	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
)

// endKind says who ended a session.
type endKind int

const (
	// endClosed: its block did.
	endClosed endKind = iota
	// endCanceled: its workflow cancelled the session activity.
	endCanceled
	// endUnowned: its run is closed, so nobody waits for it.
	endUnowned
	// endLost: something else did.
	endLost
)

// An ending is why a session ended. The first one counts.
type ending struct {
	kind    endKind
	reason  failure.Reason
	message string
}

func lost(reason failure.Reason, format string, args ...any) *ending {
	return &ending{kind: endLost, reason: reason, message: fmt.Sprintf(format, args...)}
}

// err returns what the session activity of a reports for the ending.
func (e *ending) err(a *attempt) error {
	switch e.kind {
	case endClosed, endUnowned:
		return nil
	case endCanceled:
		return temporal.NewCanceledError()
	default:
		return failure.New(failure.TypeDedicatedWorker, "the session is lost: "+e.message, a.details(e.reason, ""), nil)
	}
}

// callErr returns what an operation reports that the ending cut short.
func (e *ending) callErr(a *attempt, tool string, ran failure.ToolRan) error {
	d := a.details(e.reason, "")
	d.Tool, d.ToolRan = tool, ran
	if e.kind == endClosed {
		d.Reason = failure.ReasonClosed
		return failure.New(failure.TypeSessionClosed, "the block was closed while this call was pending", d, nil)
	}
	if e.kind == endCanceled {
		d.Reason = failure.ReasonCanceled
	}
	return failure.New(failure.TypeDedicatedWorker, "the session is lost: "+e.message, d, nil)
}

// Error makes an ending the cause of the contexts that it cancels.
func (e *ending) Error() string { return "the session has ended: " + e.message }

func (a *attempt) details(reason failure.Reason, peer string) failure.Details {
	return failure.Details{
		Server:   a.server.Name,
		Reason:   reason,
		Attempt:  a.author.Attempt,
		Host:     a.author.Host,
		OpenedAt: a.author.At,
		Peer:     peer,
	}
}

// refused is the end of an attempt that must not open. It names the attempt that
// may have opened the session.
func (a *attempt) refused(verdict heartbeat.Verdict, past heartbeat.Past) error {
	return failure.New(failure.TypeDedicatedWorker, "the session is lost: "+verdict.Message, failure.Details{
		Server:   a.server.Name,
		Reason:   verdict.Reason,
		Attempt:  past.Author.Attempt,
		Host:     past.Author.Host,
		OpenedAt: past.Author.At,
	}, past.Err)
}

// opener is what the attempt opens its session by.
func (a *attempt) opener() *opener {
	o := sessionOpener(a.server, a.input.Argument, a.logger)
	o.toolsChanged = func() { a.block.toolsChanged.Store(true) }
	o.warm = a.warm
	return o
}

// openFailure is the end of an attempt that can't open, and that no other attempt
// can.
func (a *attempt) openFailure(reason failure.Reason, err error) error {
	return a.opener().permanent(reason, err)
}

// retryable is the end of an attempt that holds no session; the next may open one.
func (a *attempt) retryable(reason failure.Reason, err error) error {
	return a.opener().retryable(reason, err)
}
