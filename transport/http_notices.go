package transport

import (
	"io"
	"net/http"
	"time"
)

// openWait is how long the handshake waits for the stream of the server's own
// messages. Some servers send nothing of it before the first message.
const openWait = 2 * time.Second

// follow returns the standalone stream, which opens while the SDK goes on.
func (r *remote) follow(request *http.Request) *http.Response {
	ctx, release := r.bind(request.Context())
	s := &stream{
		remote: r, ctx: ctx, release: release, request: request,
		next: (*stream).nextNotice, opening: make(chan struct{}),
	}
	go func() {
		defer close(s.opening)
		s.openNotices()
	}()
	timer := time.NewTimer(openWait)
	defer timer.Stop()
	select {
	case <-s.opening:
	case <-timer.C:
	case <-ctx.Done():
	}
	header := http.Header{"Content-Type": {"text/event-stream"}}
	return newResponse(request, http.StatusOK, header, s)
}

// nextNotice reads the standalone stream.
func (s *stream) nextNotice() {
	if s.events == nil {
		s.wait()
		if s.ctx.Err() == nil {
			s.openNotices()
		}
		return
	}
	e, err := s.events.next()
	switch {
	case err == nil:
		if s.take(e); e.isMessage() {
			s.out = e.appendTo(s.out[:0])
		}
	case s.ctx.Err() == nil:
		s.closeBody()
		s.confirm("the server's event stream broke: " + s.remote.told(endOf(err)))
	}
}

// openNotices opens the standalone stream. A server need not have one: to it, the
// SDK gets a stream on which nothing comes.
func (s *stream) openNotices() {
	response, err := s.get()
	if s.ctx.Err() != nil {
		if err == nil {
			_ = response.Body.Close()
		}
		return
	}
	if uncredited, _ := isUncredited(err); uncredited {
		return // it can be opened once there is a credential
	}
	if err != nil {
		s.confirm("the server's event stream can't be opened: " + s.remote.told(err.Error()))
		return
	}
	switch status := response.StatusCode; {
	case status < 300 && mediaType(response) == "text/event-stream" && !s.remote.otherSession(s.request, response):
		s.attach(response)
		return
	case status >= 500 && status != http.StatusNotImplemented, status == http.StatusTooManyRequests,
		status == http.StatusConflict, status == http.StatusUnauthorized, status == http.StatusForbidden:
		// It may have one the next time.
	case status == http.StatusNotFound, status == http.StatusGone, status == http.StatusBadRequest:
		// Either there is no such stream or no such session.
		if s.confirm("the server " + (reply{status: status}).told(s.remote) + " to the request for its event stream") {
			s.next = (*stream).silence
		}
	default:
		s.next = (*stream).silence
	}
	_ = response.Body.Close()
}

// confirm asks whether the session lives, if there is one.
func (s *stream) confirm(why string) bool {
	if s.request.Header.Get(sessionHeader) == "" || s.remote.knows(s.ctx, s.request, why) {
		return true
	}
	s.over = io.EOF
	return false
}

// silence waits for the end of the session.
func (s *stream) silence() { <-s.ctx.Done() }
