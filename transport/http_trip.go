package transport

import (
	"context"
	"net/http"
)

// A roundTripper is what the MCP SDK's connection sends its requests by. What it
// returns is chosen for what the SDK makes of it: an error fails the request alone,
// while most statuses would end the SDK's connection, and with it a session that
// lives. So the SDK sees answers and errors, and no status.
type roundTripper struct{ *remote }

// RoundTrip implements [http.RoundTripper].
func (t roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.Method {
	case http.MethodDelete:
		return t.delete(request), nil
	case http.MethodGet:
		if t.options.legacy {
			return t.openLegacy(request)
		}
		return t.follow(request), nil
	default:
		return t.post(request)
	}
}

// phase returns what is at stake with a message.
func (r *remote) phase(m message, request *http.Request) phase {
	switch {
	case m.opens():
		return opening
	case r.options.legacy, request.Header.Get(sessionHeader) != "":
		return inSession
	default:
		return sessionless
	}
}

// post sends one message.
func (r *remote) post(request *http.Request) (*http.Response, error) {
	m := readMessage(request)
	// The notice that a call is cancelled carries the values of the call's
	// context: it is not what is tracked.
	tracked := request.Context()
	if !m.isCall() && !m.handshake() {
		tracked = context.Background()
	}
	ctx, release := r.bind(request.Context())
	if r.ctx.Err() != nil {
		release()
		closeBody(request)
		return nil, r.cutOff(tracked, false)
	}
	NoteFault(tracked, nil)
	if m.isCall() {
		r.inFlight.add(m.id, request)
	}
	called := context.Background()
	if m.isCall() {
		called = tracked
	}
	response, sent, err := r.send(ctx, called, request)
	r.inFlight.remove(m.cancels)
	if err != nil {
		defer release()
		if !sent || ctx.Err() == nil {
			r.inFlight.remove(m.id)
		}
		return nil, r.unanswered(ctx, tracked, r.phase(m, request), request, sent, err)
	}
	if response.StatusCode < 300 && m.isCall() && mediaType(response) == "text/event-stream" && !r.otherSession(request, response) {
		r.opened(tracked, m, response)
		return newResponse(request, http.StatusOK, response.Header, newCallStream(r, ctx, release, tracked, request, m, response)), nil
	}
	defer release()
	defer func() {
		if ctx.Err() == nil { // else the call may still run
			r.inFlight.remove(m.id)
		}
	}()
	return r.answered(ctx, tracked, m, request, response)
}

// bind returns a context for a request that ends with the session too.
func (r *remote) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// opened notes what the answer to the handshake told.
func (r *remote) opened(tracked context.Context, m message, response *http.Response) {
	if !m.opens() || r.options.legacy {
		return
	}
	id := response.Header.Get(sessionHeader)
	if id != "" {
		r.learnSession(id)
	}
	// The versions that begin with server/discover have no sessions, whatever the
	// server says.
	NoteSessionless(tracked, id == "" || m.method != methodInitialize)
}

func (r *remote) otherSession(request *http.Request, response *http.Response) bool {
	own, told := request.Header.Get(sessionHeader), response.Header.Get(sessionHeader)
	return own != "" && told != "" && own != told
}
