package transport

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpsession/mcpsession/failure"
)

// A calling is the call whose answer a stream brings.
type calling struct {
	message
	tracked  context.Context
	response *http.Response // the first, in whose body it was to come
	answered bool
}

func newCallStream(r *remote, ctx context.Context, release context.CancelFunc, tracked context.Context,
	request *http.Request, m message, response *http.Response) *stream {
	s := &stream{
		remote: r, ctx: ctx, release: release, request: request,
		next: (*stream).nextOfCall, of: &calling{message: m, tracked: tracked},
	}
	s.attach(response)
	s.of.response = response
	r.noteUnfinished(r.phase(m, request), tracked, response, "")
	return s
}

// nextOfCall reads the stream of a call.
func (s *stream) nextOfCall() {
	e, err := s.events.next()
	switch {
	case err == nil:
		s.take(e)
		s.out = s.hand(e)
	case s.of.answered:
		s.over = io.EOF
	case s.ctx.Err() != nil:
		s.over = context.Cause(s.ctx)
		if s.remote.ctx.Err() != nil {
			s.over = s.remote.cutOff(s.of.tracked, true)
		}
	default:
		s.closeBody()
		if s.lastID == "" || !s.resume() {
			s.broke(err)
		}
	}
}

// hand returns an event as the SDK gets it, and sees whether it is the answer.
func (s *stream) hand(e event) []byte {
	a, ok := parseAnswer(e.data)
	phase := s.remote.phase(s.of.message, s.request)
	// An error for nobody in particular is for this call: it is its stream.
	mine := ok && (a.id == s.of.id || a.rpc != nil && !a.id.IsValid())
	if !mine {
		s.remote.noteUnfinished(phase, s.of.tracked, s.of.response, string(e.data))
	}
	if !mine || a.rpc == nil {
		if !e.isMessage() {
			return nil
		}
		if mine {
			s.answered(phase)
		}
		return e.appendTo(s.out[:0])
	}
	s.answered(phase)
	re := reply{status: http.StatusOK, rpc: a.rpc, answers: true}
	v := re.judge(phase)
	if v = s.remote.confirmed(s.ctx, s.of.tracked, s.request, re, v); v.action == lose {
		_ = s.remote.failed(s.of.tracked, v, &Fault{Message: "the server " + re.told(s.remote)})
	}
	e.data = encodeError(s.of.id, s.remote.known().rpcError(a.rpc))
	return e.appendTo(s.out[:0])
}

func (s *stream) answered(p phase) {
	s.of.answered = true
	if p == opening {
		NoteFault(s.of.tracked, nil) // it is whole
	}
	s.remote.inFlight.remove(s.of.id)
}

// resume takes the stream up where it broke. It sends nothing again: the call is
// where it was.
func (s *stream) resume() bool {
	var response *http.Response
	for response == nil {
		s.wait()
		if s.ctx.Err() != nil {
			return true // which Read sees
		}
		var err error
		response, err = s.get()
		// The call runs on while a credential can't be had for a while.
		if uncredited, stays := isUncredited(err); err != nil && (!uncredited || stays) {
			return false
		}
	}
	if response.StatusCode >= 300 || mediaType(response) != "text/event-stream" || s.remote.otherSession(s.request, response) {
		_ = response.Body.Close()
		return false
	}
	s.attach(response)
	return true
}

// broke answers the call with an error, since no other answer will come.
func (s *stream) broke(err error) {
	phase := s.remote.phase(s.of.message, s.request)
	var fault error
	if errors.Is(err, errEventTooLarge) {
		v := verdict{action: refuse, reason: failure.ReasonNoAnswer, ran: failure.RanUnknown}
		fault = s.remote.failed(s.of.tracked, v, &Fault{Message: err.Error()})
	} else {
		fault = s.remote.unanswered(s.ctx, s.of.tracked, phase, s.request, true, errors.New(endOf(err)))
	}
	s.of.answered = true
	s.remote.inFlight.remove(s.of.id)
	answer := event{data: encodeError(s.of.id, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fault.Error()})}
	s.out, s.over = answer.appendTo(s.out[:0]), io.EOF
}
