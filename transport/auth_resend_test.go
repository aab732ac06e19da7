//go:build unix

package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/transport"
)

// A refusal whose body does not end is one all the same: a call that ends meanwhile
// did not run.
func TestBearerRefusalNeverEnds(t *testing.T) {
	t.Parallel()
	s, source, session, server := openBearer(t)
	begun, over := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(over) })
	s.put(func(w http.ResponseWriter, _ *http.Request, method string) bool {
		if method != "tools/call" {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no")
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-over
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	ctx, send := transport.TrackSend(ctx)
	failed := make(chan error, 1)
	go func() { failed <- call(ctx, session, "incr", nil, nil) }()
	receive(t, "the refusal", begun)
	until(t, "the refusal is known", func() bool { return send.Fault() != nil })
	cancel()
	if err := receive(t, "the end of the call", failed); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wantFault(t, send.Fault(), failure.ReasonUnauthorized, failure.RanNo)
	s.put(source.guard(nil))
	counts(t, session, 1)
	expectLives(t, server)
}

// A 401 in the name of another session has passed what refuses credentials: the call
// may have run, and is not sent again.
func TestBearerRefusedByAnotherSession(t *testing.T) {
	t.Parallel()
	s, source, session, server := openBearer(t)
	source.rotate("token-number-2")
	s.put(func(w http.ResponseWriter, _ *http.Request, method string) bool {
		if method == "tools/call" {
			w.Header().Set("Mcp-Session-Id", "another")
			http.Error(w, "upstream says no", http.StatusUnauthorized)
		}
		return method == "tools/call"
	})
	fault, _ := faultOf(t, session, "incr")
	wantFault(t, fault, failure.ReasonServerGone, failure.RanUnknown)
	if n := s.count("POST tools/call"); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
	receive(t, "the end of the session", server.Gone())
}

// Behind a redirect, and over HTTP/2, where a server may refuse before it has read all,
// a call with large arguments runs once.
func TestBearerRotatedBehindRedirect(t *testing.T) {
	t.Parallel()
	s, source := newSite(t, nil), newSecretSource()
	guard := source.guard(nil)
	var version atomic.Int32
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/" {
			http.Redirect(w, request, "/there", http.StatusTemporaryRedirect)
			return
		}
		version.Store(int32(request.ProtoMajor))
		if guard(w, request, "") {
			return
		}
		s.ServeHTTP(w, request)
	}))
	front.EnableHTTP2 = true
	front.StartTLS()
	t.Cleanup(front.Close)
	server := watched(t, transport.HTTP(front.URL, transport.WithHTTPClient(front.Client()), transport.WithBearer(source.token)))
	session, err := connectStateful(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		source.rotate("token-number-" + strings.Repeat("x", i+2))
		if err := call(t.Context(), session, "echo", map[string]any{"text": strings.Repeat("x", 512<<10)}, nil); err != nil {
			t.Error(err)
		}
	}
	if n := s.count("POST tools/call"); n != 3 {
		t.Errorf("%d calls have come to the server", n)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if n := version.Load(); n != 2 {
		t.Errorf("it was HTTP/%d", n)
	}
}
