package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcpsession/mcpsession/failure"
)

// answered returns what the SDK gets of a response that is read as a whole.
func (r *remote) answered(ctx, tracked context.Context, m message, request *http.Request, response *http.Response) (*http.Response, error) {
	defer func() { _ = response.Body.Close() }()
	p := r.phase(m, request)
	ok := response.StatusCode >= 200 && response.StatusCode < 300
	if ok && (!m.isCall() || r.options.legacy) && !r.otherSession(request, response) {
		if mediaType(response) != "text/event-stream" {
			discard(response)
		}
		return newResponse(request, http.StatusAccepted, http.Header{}, http.NoBody), nil
	}
	limit := maxErrorBody
	if ok {
		limit = DefaultMaxMessage
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	if err != nil && ok {
		r.noteUnfinished(p, tracked, response, textOf(response, body))
		return nil, r.unanswered(ctx, tracked, p, request, true, err)
	}
	a, isAnswer := parseAnswer(body)
	re := reply{
		status: response.StatusCode, rpc: a.rpc, answers: isAnswer && a.id == m.id,
		text: textOf(response, body), otherSession: r.otherSession(request, response),
		unusable: ok && (len(body) > limit || !isAnswer || a.rpc == nil && (a.id != m.id || !isMessage(body))),
	}
	v := r.confirmed(ctx, tracked, request, re, re.judge(p))
	if v.action == pass {
		r.opened(tracked, m, response)
		if a.rpc != nil {
			body = encodeError(m.id, r.known().rpcError(a.rpc))
			// The SDK would keep an id that comes with an error. It is of a session that
			// the server has refused, and the next request, such as the initialize after
			// a refused server/discover, would be one of that session.
			response.Header.Del(sessionHeader)
		}
		return jsonResponse(request, response.Header, body), nil
	}
	return nil, r.failed(tracked, v, r.describe(m, re, v, response, len(body) > limit))
}

// noteUnfinished notes of the handshake what has come of an answer that is not
// whole, for the case that no more comes in time.
func (r *remote) noteUnfinished(p phase, tracked context.Context, response *http.Response, said string) {
	if p != opening {
		return
	}
	NoteFault(tracked, &Fault{
		Reason: failure.ReasonNoAnswer, ToolRan: failure.RanNo, Peer: r.told(said),
		Message: fmt.Sprintf("the server has begun to answer, with HTTP %d %s and content type %q, but the answer is not whole",
			response.StatusCode, http.StatusText(response.StatusCode), r.told(response.Header.Get("Content-Type"))),
	})
}

// confirmed returns the verdict on a reply with probe decided by asking the server.
func (r *remote) confirmed(ctx, tracked context.Context, request *http.Request, re reply, v verdict) verdict {
	if v.action != probe {
		return v
	}
	// First: if the session's end comes before its verdict, it ends the request from
	// above, and this is what is known of it.
	NoteFault(tracked, &Fault{Reason: v.reason, ToolRan: v.ran, Message: "the server " + re.told(r)})
	if v.action = lose; r.knows(ctx, request, "the server said that it does not know the session") {
		v.action = pass
		NoteFault(tracked, nil)
	}
	return v
}

// textOf returns what a body says to people.
func textOf(response *http.Response, body []byte) string {
	if kind := mediaType(response); kind == "text/html" || len(body) > 0 && strings.HasPrefix(kind, "image/") {
		return "" // a page for a browser says nothing in its first bytes
	}
	return strings.TrimSpace(string(body))
}

// failed notes a request's failure, and ends the session if that is lost.
func (r *remote) failed(tracked context.Context, v verdict, fault *Fault) error {
	fault.Reason, fault.ToolRan, fault.Permanent = v.reason, v.ran, v.permanent
	NoteFault(tracked, fault) // first: the end of the session ends the request, too
	if v.action == lose {
		cause := error(fault)
		if fault.Peer != "" {
			cause = fmt.Errorf("%w; it said: %q", fault, fault.Peer)
		}
		r.lose(cause)
	}
	return fault
}

// unanswered returns the error of a request that came to no response, and sees
// whether the session is still there.
func (r *remote) unanswered(ctx, tracked context.Context, p phase, request *http.Request, sent bool, err error) error {
	var own *Fault
	switch {
	case errors.As(err, &own):
		NoteFault(tracked, own)
		return own
	case r.ctx.Err() != nil:
		return r.cutOff(tracked, sent)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	fault := &Fault{Reason: failure.ReasonUnreachable, ToolRan: failure.RanNo, Message: "the server can't be reached: " + r.told(err.Error())}
	if sent {
		fault.Message = "the connection to the server broke before its answer: " + r.told(err.Error())
		fault.Reason = failure.ReasonNoAnswer
		if p != opening {
			fault.ToolRan = failure.RanUnknown
		}
	}
	if p == inSession {
		// If the session's end comes first, it ends the request from above, and this
		// is what is known of it.
		lost := *fault
		lost.Reason = failure.ReasonServerGone
		NoteFault(tracked, &lost)
		if !r.knows(ctx, request, fault.Message) {
			return &lost
		}
	}
	NoteFault(tracked, fault)
	return fault
}

// cutOff is the error of a request that the end of the transport has ended.
func (r *remote) cutOff(tracked context.Context, sent bool) error {
	fault := &Fault{Reason: failure.ReasonServerGone, ToolRan: failure.RanNo, Message: errEnded.Error()}
	if sent {
		fault.ToolRan = failure.RanUnknown
	}
	select {
	case <-r.ending:
		if !r.asked {
			NoteFault(tracked, fault)
		}
	default: // it has not come to connect
	}
	return fault
}
