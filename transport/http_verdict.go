package transport

import (
	"net/http"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpsession/mcpsession/failure"
)

// A phase says what is at stake when a request fails.
type phase int

const (
	opening     phase = iota // the request is one of the handshake: there is no session yet
	inSession                // it names the session
	sessionless              // the server keeps none
)

// A reply is what a server answered to a request over HTTP.
type reply struct {
	status int
	// rpc is the JSON-RPC error in the body, and answers tells that it carries the
	// request's id. An error of something before the MCP session, which has not
	// read the request, carries none or another.
	rpc     *jsonrpc.Error
	answers bool
	// text is the body's, where there is no JSON-RPC error in it.
	text string
	// unusable tells that a call came to nothing that is an answer.
	unusable bool
	// otherSession tells that it names another session than the request.
	otherSession bool
}

// An action is what follows from a reply.
type action int

const (
	pass   action = iota // the MCP SDK gets it: it is the server's answer
	refuse               // the request has failed; the session lives
	lose                 // the session is lost
	probe                // the server is asked whether it knows the session: lose, or else pass
)

// A verdict is an action with what is told of it.
type verdict struct {
	action    action
	reason    failure.Reason
	ran       failure.ToolRan
	permanent bool // for the handshake: another try would come to the same
}

// judge is the table of status × body × phase. It is the only place that says
// what an answer over HTTP means; the package comment tells it to users, and
// TestJudge holds it.
func (r reply) judge(p phase) verdict {
	switch {
	case r.otherSession:
		// What was called ran in a session that is not this block's, if it ran.
		return verdict{lose, failure.ReasonServerGone, failure.RanUnknown, false}
	case r.status >= 200 && r.status < 300:
		return r.judgeSuccess(p)
	}
	known := verdict{action: refuse, ran: failure.RanNo}
	switch r.status {
	case http.StatusUnauthorized:
		known.reason, known.permanent = failure.ReasonUnauthorized, true
		return known
	case http.StatusForbidden:
		known.reason, known.permanent = failure.ReasonForbidden, true
		return known
	case http.StatusTooManyRequests:
		known.reason = failure.ReasonRateLimited
		return known
	case http.StatusServiceUnavailable:
		known.reason = failure.ReasonUnavailable
		return known
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		// What stands before the server sent the request on and got no answer.
		known.reason, known.ran = failure.ReasonGateway, r.unlessOpening(p)
		return known
	}
	switch {
	case r.status >= 500:
		if r.rpc != nil {
			return verdict{action: pass}
		}
		known.reason, known.ran = failure.ReasonServerError, r.unlessOpening(p)
		return known
	case r.status >= 400:
		return r.judgeRefusal(p)
	default:
		// A redirect that was not followed, or a status that has no business here.
		known.reason, known.permanent = failure.ReasonRedirect, true
		return known
	}
}

// judgeSuccess is the part of the table for 2xx.
func (r reply) judgeSuccess(p phase) verdict {
	switch {
	case r.unusable:
		return verdict{refuse, failure.ReasonNoAnswer, r.unlessOpening(p), false}
	case p == inSession && r.rpc != nil && saysUnknownSession(r.rpc.Message):
		// A tool may have sessions of its own, and speak of those.
		return verdict{probe, failure.ReasonServerGone, failure.RanNo, false}
	}
	return verdict{action: pass}
}

// judgeRefusal is the part of the table for the 4xx that are left.
func (r reply) judgeRefusal(p phase) verdict {
	lost := verdict{lose, failure.ReasonServerGone, failure.RanNo, false}
	said := r.text
	if r.rpc != nil {
		said = r.rpc.Message
	}
	unknown := saysUnknownSession(said)
	switch answered := r.rpc != nil && r.answers; {
	case p == inSession && r.status == http.StatusGone:
		return lost
	case p == inSession && r.status == http.StatusNotFound && answered:
		if r.rpc.Code == codeSessionNotFound || unknown {
			return lost
		}
		return verdict{action: pass}
	case p == inSession && r.status == http.StatusNotFound:
		return lost
	case p == inSession && unknown && answered:
		return verdict{probe, failure.ReasonServerGone, failure.RanNo, false}
	case p == inSession && unknown:
		return lost
	case answered:
		return verdict{action: pass}
	case r.status == http.StatusNotFound, r.status == http.StatusGone:
		return verdict{refuse, failure.ReasonNotFound, failure.RanNo, true}
	case r.rpc != nil:
		return verdict{action: pass}
	}
	again := r.status == http.StatusRequestTimeout || r.status == http.StatusTooEarly
	return verdict{refuse, failure.ReasonRejected, failure.RanNo, !again}
}

// unlessOpening returns what is known of the tool when the server may have got
// the request: a handshake calls none.
func (r reply) unlessOpening(p phase) failure.ToolRan {
	if p == opening {
		return failure.RanNo
	}
	return failure.RanUnknown
}

// codeSessionNotFound is the JSON-RPC code that servers give with a 404 for a
// session that they don't know. With other statuses it means other things.
const codeSessionNotFound = -32001

// unknownSession matches what servers say of a session that they don't know, as
// far as it is about a session: "Session not found", "No valid session ID
// provided", "Invalid or expired session ID", "Session has been terminated",
// "No transport found for sessionId", "Server not initialized".
var unknownSession = regexp.MustCompile(`(?i)` +
	`\bsession(?:[ _-]?id)?\b[^.]{0,40}\b(?:not found|unknown|expired|invalid|terminated|closed|closing|does(?: not|n't) exist|no longer|required|missing)\b` +
	`|\b(?:no|unknown|invalid|expired|missing|unrecognized|not find)\b[^.]{0,40}\bsession(?:[ _-]?id)?\b` +
	`|\bserver not initialized\b`)

func saysUnknownSession(text string) bool { return unknownSession.MatchString(text) }
