package replaytests

import (
	"fmt"
	"strings"

	historypb "go.temporal.io/api/history/v1"
)

// A Difference is the first place where the code no longer asks for what a history
// has.
type Difference struct {
	// EventID is the event that the code does not ask for; zero where it asks for more
	// than the history has, or the SDK does not say.
	EventID int64
	// Recorded is that event, and Wanted what the code asks for in its place; empty
	// for nothing.
	Recorded, Wanted string
	// Message says all of it.
	Message string

	cause error
}

func (d *Difference) Error() string { return d.Message }

// Unwrap returns the SDK's error; nil where the SDK does not look, as at task queues.
func (d *Difference) Unwrap() error { return d.cause }

func (h *History) difference(m *mismatch, seen *trace, cause error) *Difference {
	d := &Difference{cause: cause}
	text := func(event *historypb.HistoryEvent) string {
		if event == nil {
			return ""
		}
		return describe(event, nil, seen.dataConverter)
	}
	d.Recorded, d.Wanted = text(m.event), text(m.wish)
	for _, w := range seen.wishes {
		if m.wish == w.event && w.err != nil {
			d.Wanted += ": " + w.err.Error()
		}
	}
	var message strings.Builder
	if m.event == nil {
		fmt.Fprintf(&message, "the code asks for more than the history has:\n\twanted:   %s", d.Wanted)
	} else {
		d.EventID = m.event.GetEventId()
		fmt.Fprintf(&message, "event %d, %v, is not what the code asks for", d.EventID, m.event.GetEventType())
		if m.field != "" {
			fmt.Fprintf(&message, " (another %s)", m.field)
		}
		wanted := d.Wanted
		if wanted == "" {
			wanted = "nothing"
		}
		fmt.Fprintf(&message, ":\n\trecorded: %s\n\twanted:   %s", d.Recorded, wanted)
	}
	if cause != nil {
		if strings.Contains(cause.Error(), nondeterminism) {
			fmt.Fprintf(&message, "\n\tthe SDK:  %s", clip(cause.Error()))
		} else {
			fmt.Fprintf(&message, "\n\tafter it the workflow failed, as it got an answer to something else: %s", clip(cause.Error()))
		}
	} else {
		message.WriteString("\n\tthe SDK's own replay does not look at this")
	}
	d.Message = message.String()
	return d
}

// nondeterminism is what the SDK's errors for it begin with; they have no exported type.
const nondeterminism = "[TMPRL1100]"

// clip bounds what the SDK says, which is all of the events and commands again, or a
// stack.
func clip(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
