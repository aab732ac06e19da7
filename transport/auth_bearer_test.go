//go:build unix

package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/transport"
)

// A secretSource gives the tokens that a test puts there, and a guard of it lets pass
// only the one that is good now.
type secretSource struct {
	mu    sync.Mutex
	gives func() (string, error)
	good  string
	asked int
}

func newSecretSource() *secretSource {
	s := &secretSource{}
	s.rotate("token-number-1")
	return s
}

// rotate makes a token the one that is given and good.
func (s *secretSource) rotate(token string) {
	s.accept(token)
	s.give(func() (string, error) { return token, nil })
}

func (s *secretSource) accept(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.good = token
}

func (s *secretSource) give(gives func() (string, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gives = gives
}

func (s *secretSource) token(context.Context) (string, error) {
	s.mu.Lock()
	s.asked++
	gives := s.gives
	s.mu.Unlock()
	return gives()
}

func (s *secretSource) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// guard answers 401 to requests without the good token, and else asks next, if any.
func (s *secretSource) guard(next func(http.ResponseWriter, *http.Request, string) bool) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, request *http.Request, method string) bool {
		s.mu.Lock()
		good := s.good
		s.mu.Unlock()
		if got := request.Header.Get("Authorization"); got != "Bearer "+good {
			http.Error(w, "no such token: "+got, http.StatusUnauthorized)
			return true
		}
		return next != nil && next(w, request, method)
	}
}

func openBearer(t *testing.T, options ...transport.Option) (*site, *secretSource, *mcp.ClientSession, transport.Watched) {
	t.Helper()
	s, source := newSite(t, nil), newSecretSource()
	s.put(source.guard(nil))
	session, server := openHTTP(t, s, append(options, transport.WithBearer(source.token))...)
	return s, source, session, server
}

// expectSameSession fails the test unless there was one initialize, and one id.
func expectSameSession(t *testing.T, s *site) {
	t.Helper()
	if n := s.count("POST initialize"); n != 1 {
		t.Errorf("there were %d initializes", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make(map[string]bool)
	for _, header := range s.headers {
		if id := header.Get("Mcp-Session-Id"); id != "" {
			ids[id] = true
		}
	}
	if len(ids) != 1 {
		t.Errorf("the session ids are %v", ids)
	}
}

// Twenty calls that are refused at once renew the token once, run once each, and the
// session is the same (C13).
func TestBearerRotated(t *testing.T) {
	t.Parallel()
	s, source, session, server := openBearer(t)
	counts(t, session, 1)
	const calls = 20
	// All are on their way with the old token before any is refused.
	var arrived atomic.Int32
	all := make(chan struct{})
	source.rotate("token-number-2")
	s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
		if method == "tools/call" && strings.HasSuffix(request.Header.Get("Authorization"), "1") {
			if arrived.Add(1) == calls {
				close(all)
			}
			<-all
		}
		return source.guard(nil)(w, request, method)
	})
	var calling sync.WaitGroup
	for range calls {
		calling.Go(func() {
			if err := call(t.Context(), session, "incr", nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	calling.Wait()
	counts(t, session, calls+2)
	if n := source.times(); n != 2 {
		t.Errorf("the function was called %d times", n)
	}
	if n := s.count("POST tools/call"); n != 2*calls+2 {
		t.Errorf("there were %d requests for calls", n)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	expectSameSession(t, s)
}

// The stream of the server's own messages, the DELETE, the ping that asks for the
// session and the stream that is taken up again renew the token as calls do.
func TestBearerOfEveryRequest(t *testing.T) {
	t.Parallel()
	s, source := newSite(t, nil), newSecretSource()
	s.put(source.guard(nil))
	changed := make(chan struct{}, 1)
	server := watched(t, transport.HTTP(s.URL, transport.WithBearer(source.token)))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), server, stateful)
	if err != nil {
		t.Fatal(err)
	}
	counts(t, session, 1)
	// The handshake does not wait for it for long.
	until(t, "the stream is open", func() bool { return s.count("GET ") == 1 })

	source.rotate("token-number-2") // for the ping, and then the stream
	s.CloseClientConnections()
	until(t, "the stream is open again", func() bool { return s.count("GET ") >= 2 })
	s.tools.AddTool(&mcp.Tool{Name: "new", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	receive(t, "the notice of the changed list", changed)

	s.put(source.guard(func(w http.ResponseWriter, request *http.Request, method string) bool {
		switch {
		case method == "tools/call":
			source.rotate("token-number-3")
			return cut(w, "text/event-stream", "id: event-1\nretry: 1\ndata:\n\n")
		case request.Header.Get("Last-Event-Id") == "event-1":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "id: event-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[],\"structuredContent\":{\"count\":7}}}\n\n")
			return true
		}
		return false
	}))
	counts(t, session, 7)
	s.put(source.guard(nil))
	counts(t, session, 2)
	expectLives(t, server)

	source.rotate("token-number-4")
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if n := s.count("DELETE "); n != 2 {
		t.Errorf("there were %d DELETEs", n)
	}
	if n := source.times(); n != 4 {
		t.Errorf("the function was called %d times", n)
	}
	expectSameSession(t, s)
}

// A call whose stream broke runs on while there is no token for a while, and has its
// answer then.
func TestBearerResumesAfterFailures(t *testing.T) {
	t.Parallel()
	s, source, session, server := openBearer(t)
	var failed atomic.Int32
	s.put(source.guard(func(w http.ResponseWriter, request *http.Request, method string) bool {
		switch {
		case method == "tools/call":
			source.accept("token-number-2")
			source.give(func() (string, error) {
				if failed.Add(1) < 3 {
					return "", errors.New("the vault is sealed")
				}
				return "token-number-2", nil
			})
			return cut(w, "text/event-stream", "id: event-1\nretry: 1\ndata:\n\n")
		case request.Header.Get("Last-Event-Id") == "event-1":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "id: event-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[],\"structuredContent\":{\"count\":7}}}\n\n")
			return true
		}
		return false
	}))
	counts(t, session, 7)
	if n := s.count("POST tools/call"); n != 1 || failed.Load() != 3 {
		t.Errorf("the call was sent %d times, the function called %d times", n, failed.Load())
	}
	expectLives(t, server)
}

// Where there is no better token the call fails as unauthorized, nothing ran, and the
// session lives: later calls ask again. No text has a token.
func TestBearerNotRenewed(t *testing.T) {
	t.Parallel()
	hung := make(chan struct{})
	t.Cleanup(func() { close(hung) })
	for name, test := range map[string]struct {
		gives func() (string, error)
		says  string
		sent  int
	}{
		"same":  {func() (string, error) { return "token-number-1", nil }, "the credentials that WithBearer gives", 1},
		"wrong": {func() (string, error) { return "token-number-x", nil }, "the credentials that WithBearer gives", 2},
		"error": {func() (string, error) {
			return "token-number-y", errors.New("token-number-y and token-number-1 are sealed")
		}, "[redacted] and [redacted] are sealed", 1},
		"empty": {func() (string, error) { return "", nil }, "an empty token", 1},
		"lines": {func() (string, error) { return "token-number-z\n", nil }, "a line break", 1},
		"panic": {func() (string, error) { panic("token-number-p") }, "panicked", 1},
		"exits": {func() (string, error) { runtime.Goexit(); return "", nil }, "without returning", 1},
		"hangs": {func() (string, error) { <-hung; return "", nil }, "no token came in time", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, source, session, server := openBearer(t, transport.WithTokenTimeout(500*time.Millisecond))
			source.accept("token-number-2")
			source.give(test.gives)
			fault, err := faultOf(t, session, "incr")
			wantFault(t, fault, failure.ReasonUnauthorized, failure.RanNo)
			if fault != nil && !strings.Contains(fault.Message, test.says) {
				t.Errorf("%s; want %q", fault.Message, test.says)
			}
			if text := fmt.Sprint(err, fault.Message, fault.Peer); strings.Contains(text, "token-number") {
				t.Error(text)
			}
			if n := s.count("POST tools/call"); n != test.sent {
				t.Errorf("the call was sent %d times, want %d", n, test.sent)
			}
			expectLives(t, server)
			if name == "hangs" {
				return
			}
			source.rotate("token-number-2")
			counts(t, session, 1)
			expectSameSession(t, s)
		})
	}
}

// A call whose time is over while its token is renewed did not run, and a function
// that hangs is not called again.
func TestBearerCallEndsFirst(t *testing.T) {
	t.Parallel()
	_, source, session, server := openBearer(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	source.accept("token-number-2")
	source.give(func() (string, error) {
		close(entered)
		<-leave
		return "token-number-2", nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ctx, send := transport.TrackSend(ctx)
	failed := make(chan error, 1)
	go func() { failed <- call(ctx, session, "incr", nil, nil) }()
	receive(t, "the function is called", entered)
	cancel()
	if err := receive(t, "the end of the call", failed); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wantFault(t, send.Fault(), failure.ReasonUnauthorized, failure.RanNo)
	second := make(chan error, 1)
	go func() { second <- call(t.Context(), session, "incr", nil, nil) }()
	close(leave)
	if err := receive(t, "the second call", second); err != nil {
		t.Error(err)
	}
	if n := source.times(); n != 2 {
		t.Errorf("the function was called %d times", n)
	}
	expectLives(t, server)
}

// At opening a function that fails fails the attempt, for good only if it says so;
// and so does a server that refuses what it gives.
func TestBearerAtOpening(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		gives     func() (string, error)
		permanent bool
		sent      int
	}{
		"error":     {func() (string, error) { return "", errors.New("sealed") }, false, 0},
		"permanent": {func() (string, error) { return "", transport.Permanent("unauthorized", errors.New("sealed")) }, true, 0},
		"panic":     {func() (string, error) { panic("sealed") }, false, 0},
		"wrong":     {func() (string, error) { return "token-number-x", nil }, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, source := newSite(t, nil), newSecretSource()
			source.give(test.gives)
			s.put(source.guard(nil))
			ctx, send := transport.TrackSend(t.Context())
			_, err := connectStateful(ctx, watched(t, transport.HTTP(s.URL, transport.WithBearer(source.token))))
			fault := send.Fault()
			if fault == nil && !errors.As(err, &fault) {
				t.Fatalf("connect: %v", err)
			}
			wantFault(t, fault, failure.ReasonUnauthorized, failure.RanNo)
			if fault.Permanent != test.permanent {
				t.Errorf("%+v", fault)
			}
			if n := s.count("POST initialize"); n != test.sent {
				t.Errorf("there were %d initializes", n)
			}
		})
	}
}

// Options that clash are told before anything is sent.
func TestAuthOptionsClash(t *testing.T) {
	t.Parallel()
	bearer := transport.WithBearer(newSecretSource().token)
	header := transport.WithHeaders(func(context.Context) (http.Header, error) {
		return http.Header{"authorization": {"Bearer token-number-1"}}, nil
	})
	for says, options := range map[string][]transport.Option{
		"both WithBearer and WithOAuth":        {bearer, transport.WithOAuth(nil)},
		"nil function":                         {transport.WithBearer(nil)},
		"nil handler":                          {transport.WithOAuth(nil)},
		"WithHeaders gives an Authorization, ": {bearer, header},
	} {
		made, err := transport.HTTP("http://127.0.0.1:1/", options...)(t.Context(), nil)
		if err == nil {
			_, err = made.Connect(t.Context())
		}
		var permanent *transport.PermanentError
		if !errors.As(err, &permanent) || permanent.Reason != "bad-option" || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "token-number") {
			t.Errorf("%v; want %q", err, says)
		}
	}
}

// A token never leaves the server's origin, and does not come with a redirect within
// it twice.
func TestBearerStaysWithinTheOrigin(t *testing.T) {
	t.Parallel()
	var strangers atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	t.Cleanup(elsewhere.Close)
	s, source, session, server := openBearer(t)
	s.put(source.guard(func(w http.ResponseWriter, request *http.Request, method string) bool {
		if method == "tools/call" {
			http.Redirect(w, request, elsewhere.URL, http.StatusTemporaryRedirect)
		}
		return method == "tools/call"
	}))
	fault, _ := faultOf(t, session, "incr")
	wantFault(t, fault, failure.ReasonRedirect, failure.RanNo)
	if n := strangers.Load(); n != 0 {
		t.Errorf("there were %d requests elsewhere", n)
	}
	s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
		if method == "tools/call" && request.URL.Path == "/" {
			http.Redirect(w, request, "/moved", http.StatusTemporaryRedirect)
			return true
		}
		return source.guard(nil)(w, request, method)
	})
	source.rotate("token-number-2") // which the place that was moved to refuses
	counts(t, session, 1)
	expectLives(t, server)
}

// The legacy transport renews tokens as well.
func TestBearerOverSSE(t *testing.T) {
	t.Parallel()
	s, source := newSite(t, nil), newSecretSource()
	s.serve(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s.tools }, nil))
	s.put(source.guard(nil))
	session, server := openHTTP(t, s, transport.WithSSE(), transport.WithBearer(source.token))
	counts(t, session, 1)
	source.rotate("token-number-2")
	counts(t, session, 2)
	source.accept("token-number-3")
	fault, _ := faultOf(t, session, "incr")
	wantFault(t, fault, failure.ReasonUnauthorized, failure.RanNo)
	source.rotate("token-number-3")
	counts(t, session, 3)
	expectLives(t, server)
}

// A session whose token has expired meanwhile is ended at the server all the same: the
// function's context lives for the DELETE, and no longer.
func TestBearerRenewedForTheEnd(t *testing.T) {
	t.Parallel()
	s, source := newSite(t, nil), newSecretSource()
	s.put(source.guard(nil))
	var last context.Context
	session, server := openHTTP(t, s, transport.WithBearer(func(ctx context.Context) (string, error) {
		if last = ctx; ctx.Err() != nil { // as one that asks over the network
			return "", ctx.Err()
		}
		return source.token(ctx)
	}))
	counts(t, session, 1)
	source.rotate("token-number-2")
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if n := s.count("DELETE "); n != 2 {
		t.Errorf("there were %d DELETEs", n)
	}
	if last.Err() == nil {
		t.Error("the function's context outlives the session")
	}
}

// A function that hangs, whatever its context says, is not called without end by
// connections that are opened again and again; once it returns it is.
func TestBearerHangsForAll(t *testing.T) {
	t.Parallel()
	s, source := newSite(t, nil), newSecretSource()
	s.put(source.guard(nil))
	release := make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	var calls, running atomic.Int32
	connector := transport.HTTP(s.URL, transport.WithTokenTimeout(100*time.Millisecond), transport.WithBearer(func(ctx context.Context) (string, error) {
		calls.Add(1)
		running.Add(1)
		defer running.Add(-1)
		<-release
		return source.token(ctx)
	}))
	open := func() error {
		session, err := connectStateful(t.Context(), watched(t, connector))
		if err == nil {
			err = session.Close()
		}
		return err
	}
	for i := range transport.MaxHungTokens + 10 {
		if err := open(); err == nil || !strings.Contains(err.Error(), "no token came in time") {
			t.Errorf("opening %d: %v", i, err)
		}
	}
	// Who waits may see that it is late a moment before it is counted.
	if n := calls.Load(); n < transport.MaxHungTokens || n > transport.MaxHungTokens+2 {
		t.Errorf("it was called %d times", n)
	}
	let()
	until(t, "all have returned", func() bool { return running.Load() == 0 })
	until(t, "it is called again", func() bool { return open() == nil })
}
