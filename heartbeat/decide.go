package heartbeat

import (
	"fmt"

	"github.com/mcpsession/mcpsession/failure"
)

// Facts are all that an attempt knows when it asks whether it may open.
type Facts struct {
	// InputRunID is the run that opened the block; RunID is the activity's own.
	InputRunID, RunID string
	// Past is what earlier attempts left.
	Past Past
	// RanBefore says that the server has seen an attempt before this one.
	RanBefore bool
	// Heard is what the block's queue has brought since this attempt began to
	// listen to it.
	Heard Heard
}

// Heard is what an attempt has heard of its block.
type Heard int

const (
	// HeardNothing: not listened yet, or nothing came so far.
	HeardNothing Heard = iota
	// HeardInfo: the block asked for its session's instance, so it knows none.
	HeardInfo
	// HeardInstance: an operation came that names an instance, so the block has
	// had a session.
	HeardInstance
	// HeardSilence: nothing came for as long as an attempt waits.
	HeardSilence
)

// A Verdict is what an attempt may do.
type Verdict struct {
	// Decision is the verdict itself.
	Decision Decision
	// Reason and Message say why an attempt is refused.
	Reason  failure.Reason
	Message string
}

// Decision is one of three.
type Decision int

const (
	// Refuse: this attempt must not open a session; no other may either.
	Refuse Decision = iota
	// Listen: this attempt listens to its block's queue and asks again.
	Listen
	// Open: this attempt may open a session.
	Open
)

// Decide says whether an attempt may open a session. It is the only rule for it,
// and it is pure. It is asked before the connector runs, with what the activity
// itself knows, and again once the server has shown whether the activity had run
// before.
func Decide(f Facts) Verdict {
	switch {
	case f.InputRunID != f.RunID:
		return refuse(failure.ReasonWorkflowReset,
			"this session belongs to run %s; the workflow was reset to run %s", f.InputRunID, f.RunID)
	case f.Past.Err != nil:
		return refuse(failure.ReasonHostLost,
			"an earlier attempt may have opened the session, and what it left can't be read: %v", f.Past.Err)
	case f.Past.Marker == MayBeOpen:
		return refuse(failure.ReasonHostLost,
			"attempt %d on %s may have opened the session and is gone", f.Past.Author.Attempt, f.Past.Author.Host)
	case f.Past.Marker == Opened:
		return refuse(failure.ReasonHostLost,
			"attempt %d on %s opened the session and is gone", f.Past.Author.Attempt, f.Past.Author.Host)
	case f.Past.Marker == Cleared, !f.RanBefore, f.Heard == HeardInfo:
		return Verdict{Decision: Open}
	case f.Heard == HeardNothing:
		return Verdict{Decision: Listen}
	case f.Heard == HeardInstance:
		return refuse(failure.ReasonReset,
			"the activity was reset after it had opened a session, and its block knows that session")
	default:
		return refuse(failure.ReasonReset,
			"the activity ran before, left no trace, and its block asks for no session; it may have been reset after opening one")
	}
}

func refuse(reason failure.Reason, format string, args ...any) Verdict {
	return Verdict{Decision: Refuse, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
