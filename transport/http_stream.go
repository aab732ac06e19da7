package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// reopenPause is how long to wait before a stream that broke is opened again,
	// unless the server says another time. It doubles up to maxReopenPause until a
	// stream has lived longer than that.
	reopenPause    = time.Second
	maxReopenPause = 30 * time.Second
	// minReopenPause is the least that a server may ask for: one that asks for
	// less, and ends each stream at once, would keep its client busy.
	minReopenPause = 50 * time.Millisecond
)

// A stream is what the MCP SDK reads events from. To the SDK it never breaks: what
// a break means is decided here, where the session can be asked for. The SDK would
// end the session after a few breaks, of which proxies make one a minute.
//
// There are two kinds. The stream of a call ends with the call's answer; one that
// breaks before is taken up again if its events have ids, or else answers the call
// with an error. The standalone stream, for what the server sends of itself, is
// opened again and again: that it breaks tells of an idle server that is gone.
type stream struct {
	remote  *remote
	ctx     context.Context
	release context.CancelFunc
	request *http.Request // as the SDK made it
	next    func(*stream) // reads on; sets out or over

	body   io.Closer // nil while no connection is open
	events *eventReader
	lastID string
	opened time.Time
	retry  time.Duration // what the server asks for
	pause  time.Duration // what we do without that

	out  []byte // what the SDK has yet to read
	over error  // what it gets after that

	of      *calling      // nil for the standalone stream
	opening chan struct{} // closed when the standalone stream was opened, or could not be
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	if s.opening != nil {
		select {
		case <-s.opening: // until then the stream is not the reader's
		case <-s.ctx.Done():
			return 0, context.Cause(s.ctx)
		}
	}
	for len(s.out) == 0 {
		switch {
		case s.over != nil:
			return 0, s.over
		case s.ctx.Err() != nil:
			return 0, context.Cause(s.ctx)
		}
		s.next(s)
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// Close implements [io.Closer].
func (s *stream) Close() error {
	s.release()
	if s.opening != nil {
		<-s.opening
	}
	s.closeBody()
	return nil
}

func (s *stream) closeBody() {
	if s.body != nil {
		_ = s.body.Close()
		s.body, s.events = nil, nil
	}
}

// take notes what an event says of the stream.
func (s *stream) take(e event) {
	if e.id != "" {
		s.lastID = e.id
	}
	if e.retry > 0 {
		s.retry = max(e.retry, minReopenPause)
	}
}

// get opens the stream, or takes it up where it broke.
func (s *stream) get() (*http.Response, error) {
	request := s.request.Clone(s.ctx)
	request.Method, request.Body, request.GetBody, request.ContentLength = http.MethodGet, nil, nil, 0
	request.Header.Del("Content-Type")
	request.Header.Set("Accept", "text/event-stream")
	if s.lastID != "" {
		request.Header.Set(lastIDHeader, s.lastID)
	}
	response, _, err := s.remote.send(s.ctx, context.Background(), request)
	return response, err
}

func (s *stream) attach(response *http.Response) {
	s.body, s.events, s.opened = response.Body, newEventReader(response.Body), time.Now()
}

// wait waits before the stream is opened again.
func (s *stream) wait() {
	if time.Since(s.opened) > maxReopenPause {
		s.pause = reopenPause
	}
	pause := s.retry
	if pause == 0 {
		pause = max(s.pause, reopenPause)
		s.pause = min(2*pause, maxReopenPause)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// endOf says how a stream ended.
func endOf(err error) string {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "the server ended it"
	}
	return err.Error()
}
