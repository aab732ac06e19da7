package toolsettest

import (
	"fmt"
	"time"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/transport"
)

// A Moment is when in the course of a call its session is lost.
type Moment int

const (
	// BeforeItRuns: the call is not sent, and its tool does not run. The failure says
	// no, but for host-lost: nobody is left to say it, and the workflow learns that it
	// is unknown.
	BeforeItRuns Moment = iota
	// AnswerLost: the tool runs, and its answer does not arrive. The failure says
	// that it is unknown whether the tool ran.
	AnswerLost
	// AfterAnswer: the call has its result, and the session is lost right after. Later
	// calls fail, and have not run.
	AfterAnswer
)

// An effect is what becomes of a call.
type effect int

const (
	none effect = iota
	lose
	slow
	toolError
	protocolError
	refuse
	tooLarge
)

// A CallFault is what a test has planned for a call.
type CallFault struct {
	kit *Kit
	place
	server, tool string
	n, seen      int
	effect       effect
	happened     bool
	called       string // the tool, once it has happened

	reason failure.Reason
	when   Moment
	delay  time.Duration
	text   string
	code   int64
}

// OnCall plans a fault for the n-th call, from 1, of a tool of a server, over all its
// sessions and stateless calls; an empty tool is any. The methods of what it returns
// say what happens; call one of them, before the workflow runs.
func (k *Kit) OnCall(server, tool string, n int) *CallFault {
	k.t.Helper()
	k.known(server)
	if n < 1 {
		k.t.Fatalf("toolsettest: OnCall: the call is %d; they are counted from 1", n)
	}
	f := &CallFault{kit: k, place: caller(), server: server, tool: tool, n: n}
	k.plan(f)
	return f
}

// set gives the fault its one effect.
func (f *CallFault) set(e effect) {
	f.kit.t.Helper()
	f.kit.mu.Lock()
	had := f.effect
	if had == none {
		f.effect = e
	}
	f.kit.mu.Unlock()
	if had != none {
		f.kit.t.Fatalf("toolsettest: %s has an effect already; plan another fault for another call", f.name())
	}
}

// Lose loses the session, for one of the reasons of a DedicatedWorkerFailure. With
// host-lost, the workflow is told when the session's heartbeat timeout has passed on
// its clock. A stateless call can lose its server, with server-gone, and its host, with
// host-lost.
func (f *CallFault) Lose(reason failure.Reason, when Moment) {
	f.kit.t.Helper()
	f.kit.checkReason(reason, lossReasons)
	if when < BeforeItRuns || when > AfterAnswer {
		f.kit.t.Fatalf("toolsettest: Lose: there is no moment %d; use BeforeItRuns, AnswerLost or AfterAnswer", when)
	}
	f.reason, f.when = reason, when
	f.set(lose)
}

// Slow makes the answer take so long on the workflow's clock. The tool runs at once.
// When CallTimeout is not longer, the call fails with call-timeout when that has
// passed.
func (f *CallFault) Slow(d time.Duration) {
	f.kit.t.Helper()
	if d <= 0 {
		f.kit.t.Fatalf("toolsettest: Slow: the time is %v; use more than zero", d)
	}
	f.delay = d
	f.set(slow)
}

// ToolError answers the call with a result that has IsError set and this text, instead
// of running the tool.
func (f *CallFault) ToolError(text string) {
	f.kit.t.Helper()
	f.text = text
	f.set(toolError)
}

// ProtocolError answers the call with a JSON-RPC error, an MCPProtocolError, instead of
// running the tool.
func (f *CallFault) ProtocolError(code int64, message string) {
	f.kit.t.Helper()
	f.code, f.text = code, message
	f.set(protocolError)
}

// Refuse makes the call fail as a CallFailure for one of the reasons that a server over
// HTTP gives, such as unauthorized or rate-limited, instead of running the tool.
func (f *CallFault) Refuse(reason failure.Reason) {
	f.kit.t.Helper()
	f.kit.checkReason(reason, refusalReasons())
	f.reason = reason
	f.set(refuse)
}

// TooLarge runs the tool, and makes its result one that no Temporal payload can carry:
// the call fails with ResultTooLarge.
func (f *CallFault) TooLarge() {
	f.kit.t.Helper()
	f.set(tooLarge)
}

// nextFault returns the fault that is planned for a call that is about to be sent. The
// caller holds mu.
func (k *Kit) nextFault(o *operation, tool string) (now *CallFault) {
	for _, p := range k.faults {
		f, ok := p.(*CallFault)
		if !ok || f.server != o.server.Name || f.tool != "" && f.tool != tool {
			continue
		}
		if f.seen++; f.seen != f.n || f.effect == none || now != nil {
			continue
		}
		if o.session == nil && f.effect == lose && (f.when == AfterAnswer || f.reason != failure.ReasonServerGone && f.reason != failure.ReasonHostLost) {
			continue // told at the end
		}
		f.happened, f.called = true, tool
		now = f
	}
	return now
}

// withholds reports whether an answer that the server gives may not come to the
// workflow.
func (f *CallFault) withholds() bool {
	return f != nil && (f.effect == lose || f.effect == slow || f.effect == tooLarge)
}

func (f *CallFault) name() string {
	if f.tool == "" {
		return fmt.Sprintf("the fault of call %d of server %q", f.n, f.server)
	}
	return fmt.Sprintf("the fault of call %d of tool %q of server %q", f.n, f.tool, f.server)
}

func (f *CallFault) pending() string {
	switch {
	case f.happened:
		return ""
	case f.effect == none:
		return f.name() + " has no effect; call Lose, Slow, ToolError, ProtocolError, Refuse or TooLarge on what OnCall returns"
	case f.seen >= f.n && f.effect == lose:
		return fmt.Sprintf("%s did not happen: the call is stateless, and has no session to lose; use server-gone or host-lost, before the answer", f.name())
	case f.seen >= f.n:
		return f.name() + " did not happen: another fault was planned for the same call"
	}
	return fmt.Sprintf("%s was planned and did not happen; such calls: %d", f.name(), f.seen)
}

func (f *CallFault) message() string {
	return planned + fmt.Sprintf(" for call %d of tool %q", f.n, f.called)
}

// refusal is the word of a transport on a call that a server over HTTP refuses.
func (f *CallFault) refusal() *transport.Fault {
	return &transport.Fault{Reason: f.reason, ToolRan: ranOnRefusal[f.reason], Message: "the server refused the call, " + f.message()}
}

// fault is the word of a connector on an attempt to open that fails.
func (f *OpenFault) fault() *transport.Fault {
	permanent := true
	switch f.reason {
	case failure.ReasonConnect, failure.ReasonConnectTimeout, failure.ReasonMarker, failure.ReasonUnavailable, failure.ReasonRateLimited,
		failure.ReasonUnreachable, failure.ReasonGateway, failure.ReasonServerError, failure.ReasonWorkerStopped:
		permanent = false
	}
	return &transport.Fault{Reason: f.reason, ToolRan: failure.RanNo, Permanent: permanent, Message: "the server refused, " + planned}
}
