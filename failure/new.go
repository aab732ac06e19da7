package failure

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"
)

// MaxPeerText is how many bytes of a peer's own words a failure keeps. A failure
// that is larger than the payload limit would not reach the workflow at all.
const MaxPeerText = 4 << 10

// New returns the failure of the given type as a non-retryable error of an
// activity. The message says what happened; the details follow it in the wire
// form, and cause, which may be nil, is kept as the only error wrapped.
func New(failureType, message string, d Details, cause error) error {
	d.Peer = Clip(d.Peer, MaxPeerText)
	return temporal.NewApplicationErrorWithOptions(describe(message, d), failureType, temporal.ApplicationErrorOptions{
		NonRetryable: true,
		Cause:        cause,
		Details:      []any{d},
	})
}

// NewRetryable is New for a failure that another attempt of the activity may
// mend.
func NewRetryable(failureType, message string, d Details, cause error) error {
	d.Peer = Clip(d.Peer, MaxPeerText)
	return temporal.NewApplicationErrorWithOptions(describe(message, d), failureType, temporal.ApplicationErrorOptions{
		Cause:   cause,
		Details: []any{d},
	})
}

// NewMCPProtocol returns a server's JSON-RPC error as the failure of an
// activity. Message and data are bounded by [MaxPeerText] each; data over the
// bound is left out, since a part of it is no JSON.
func NewMCPProtocol(server, message string, code int64, data json.RawMessage) error {
	if len(data) > MaxPeerText {
		data = nil
	}
	return temporal.NewApplicationErrorWithOptions(
		fmt.Sprintf("MCP server %q answered with JSON-RPC error %d: %s", server, code, Clip(message, MaxPeerText)),
		TypeMCPProtocol,
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{code, rawOrNull(data)}},
	)
}

// NewResultTooLarge returns the failure of an operation whose result no Temporal
// payload can carry.
func NewResultTooLarge(d SizeDetails) error {
	return newTooLarge(d, "for a Temporal payload; ask the tool for less, or configure external payload storage on the client")
}

// NewResultOverBound returns the failure of an operation whose result is over the
// bound that its caller sets.
func NewResultOverBound(d SizeDetails) error {
	return newTooLarge(d, "that the caller sets; ask the tool for less, or raise Options.MaxResult")
}

func newTooLarge(d SizeDetails, limit string) error {
	what := "a result"
	if d.Tool != "" {
		what = fmt.Sprintf("%q ran, and its result", d.Tool)
	}
	return temporal.NewApplicationErrorWithOptions(
		fmt.Sprintf("MCP server %q: %s of %d bytes is over the limit of %d bytes %s", d.Server, what, d.Size, d.Limit, limit),
		TypeResultTooLarge,
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{d}},
	)
}

// Rewrap returns an activity's failure as workflow code gets it: of the same
// type, message and details, retryable, with the activity's error as its cause.
// An error that holds no failure of this package is returned as it is.
//
// Two errors in one, as errors.Join makes, would lose the type on the wire: a
// failure has one cause.
func Rewrap(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		applicationError, ok := e.(*temporal.ApplicationError)
		if !ok {
			continue
		}
		var details []any
		switch applicationError.Type() {
		case TypeDedicatedWorker, TypeOpen, TypeCall, TypeSessionClosed, TypeScript:
			d, _ := decode[Details](applicationError)
			details = []any{d}
		case TypeResultTooLarge:
			d, _ := decode[SizeDetails](applicationError)
			details = []any{d}
		case TypeMCPProtocol:
			d, _ := MCPProtocol(applicationError)
			details = []any{d.Code, rawOrNull(d.Data)}
		default:
			continue
		}
		return temporal.NewApplicationErrorWithOptions(applicationError.Message(), applicationError.Type(),
			temporal.ApplicationErrorOptions{Cause: err, Details: details})
	}
	return err
}

// Clip cuts s to at most limit bytes, at a rune's edge, and marks the cut. What is
// no UTF-8 is replaced: a failure with such text can't be sent at all.
func Clip(s string, limit int) string {
	const mark = "…"
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

func describe(message string, d Details) string {
	var b strings.Builder
	if d.Server != "" {
		b.WriteString(fmt.Sprintf("MCP server %q: ", d.Server))
	}
	b.WriteString(Clip(message, MaxPeerText))
	var notes []string
	if d.Reason != "" {
		notes = append(notes, "reason "+string(d.Reason))
	}
	if d.ToolRan != "" {
		notes = append(notes, "tool ran: "+string(d.ToolRan))
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, "; ") + ")")
	}
	return b.String()
}
