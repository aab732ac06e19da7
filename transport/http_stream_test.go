//go:build unix

package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/transport"
	"github.com/mcpsession/mcpsession/transport/transporttest"
)

// cut ends the connection of a request, after some of the response if there is
// any.
func cut(w http.ResponseWriter, contentType, body string) bool {
	if body != "" {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}

// A connection that is cut before the answer leaves open whether the tool ran. The
// server still knows the session, so that counts on.
func TestHTTPCut(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	session, server := openHTTP(t, s)
	count := 0
	for _, test := range []struct{ contentType, body string }{
		{"", ""},
		{"application/json", `{"jsonrpc":"2.0","id":`},
		{"text/event-stream", "data: {\"jsonr"},
		{"text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n"},
	} {
		s.put(func(w http.ResponseWriter, _ *http.Request, method string) bool {
			return method == "tools/call" && cut(w, test.contentType, test.body)
		})
		fault, err := faultOf(t, session, "incr")
		wantFault(t, fault, failure.ReasonNoAnswer, failure.RanUnknown)
		if fault != nil && !strings.Contains(fault.Message, "broke before its answer") {
			t.Errorf("%v; %v", fault, err)
		}
		s.put(nil)
		count++
		counts(t, session, count)
	}
	expectLives(t, server)
}

func expectLives(t *testing.T, server transport.Watched) {
	t.Helper()
	select {
	case <-server.Gone():
		t.Errorf("the session is gone: %v", server.Cause())
	default:
	}
}

// What is cut is asked for; a server that does not know the session then, or can't
// be asked, is gone. What is known of the call stays.
func TestHTTPCutAndGone(t *testing.T) {
	t.Parallel()
	for name, probe := range map[string]func(w http.ResponseWriter) bool{
		"unknown": func(w http.ResponseWriter) bool {
			http.Error(w, "session not found", http.StatusNotFound)
			return true
		},
		"cut": func(w http.ResponseWriter) bool { return cut(w, "", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			session, server := openHTTP(t, s)
			s.put(func(w http.ResponseWriter, _ *http.Request, method string) bool {
				switch method {
				case "tools/call":
					return cut(w, "", "")
				case "ping":
					return probe(w)
				}
				return false
			})
			fault, _ := faultOf(t, session, "incr")
			wantFault(t, fault, failure.ReasonServerGone, failure.RanUnknown)
			if cause := awaitGone(t, server); !strings.Contains(cause, "broke before its answer") {
				t.Error(cause)
			}
		})
	}
}

// A server that takes the connection and says nothing is given up in bounded time,
// but only when there was reason to ask.
func TestHTTPHungServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	session, server := openHTTP(t, s)
	s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
		switch method {
		case "tools/call":
			return cut(w, "", "")
		case "ping":
			<-request.Context().Done()
			return true
		}
		return false
	})
	fault, _ := faultOf(t, session, "incr")
	wantFault(t, fault, failure.ReasonServerGone, failure.RanUnknown)
	if cause := awaitGone(t, server); !strings.Contains(cause, "did not answer within 5s") {
		t.Error(cause)
	}
}

// A stream with event ids that breaks is taken up again, and the call has its
// answer: it was sent once.
func TestHTTPResume(t *testing.T) {
	t.Parallel()
	for _, refused := range []bool{false, true} {
		s := newSite(t, nil)
		session, server := openHTTP(t, s)
		s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
			switch {
			case method == "tools/call":
				return cut(w, "text/event-stream", "id: event-1\nretry: 1\ndata:\n\n")
			case request.Header.Get("Last-Event-Id") == "event-1" && refused:
				http.Error(w, "stream replay unsupported", http.StatusBadRequest)
				return true
			case request.Header.Get("Last-Event-Id") == "event-1":
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "id: event-2\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[],\"structuredContent\":{\"count\":7}}}\n\n")
				return true
			}
			return false
		})
		if refused {
			fault, _ := faultOf(t, session, "incr")
			wantFault(t, fault, failure.ReasonNoAnswer, failure.RanUnknown)
		} else {
			counts(t, session, 7)
		}
		if n := s.count("POST tools/call"); n != 1 {
			t.Errorf("the call was sent %d times", n)
		}
		s.put(nil)
		counts(t, session, 1)
		expectLives(t, server)
	}
}

// A standalone stream that breaks is opened again, as often as it takes, and the
// session lives.
func TestHTTPStandaloneStreamBreaks(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var breaks atomic.Int32
	s.put(func(w http.ResponseWriter, request *http.Request, _ string) bool {
		if request.Method != http.MethodGet {
			return false
		}
		// More often than the MCP SDK would put up with.
		if n := breaks.Add(1); n <= 8 {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "retry: 1\nid: %d\ndata: {\"no\":\"message\"}\n\nnonsense\n", n)
			return true
		} else if request.Header.Get("Last-Event-Id") != "8" {
			t.Errorf("the stream was taken up after event %q", request.Header.Get("Last-Event-Id"))
		}
		request.Header.Del("Last-Event-Id") // the server has none of these events
		return false
	})
	changed := make(chan struct{}, 1)
	server := watched(t, transport.HTTP(s.URL))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), server, stateful)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the stream was opened nine times", func() bool { return breaks.Load() == 9 })
	expectLives(t, server)
	counts(t, session, 1)
	s.tools.AddTool(&mcp.Tool{Name: "new", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	receive(t, "the notice of the changed list", changed)
}

// A server need not have a standalone stream, whatever way it says so; and one that
// opens it without a word does not hold up the session.
func TestHTTPNoStandaloneStream(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for _, answer := range []func(http.ResponseWriter, *http.Request){
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusMethodNotAllowed) },
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) },
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) },
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotImplemented) },
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/docs", http.StatusFound) },
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<h1>Welcome</h1>") },
		func(w http.ResponseWriter, _ *http.Request) { cut(w, "", "") },
		func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		},
	} {
		s := newSite(t, nil)
		s.put(func(w http.ResponseWriter, request *http.Request, _ string) bool {
			if request.Method == http.MethodGet {
				answer(w, request)
				return true
			}
			return false
		})
		session, server := openHTTP(t, s)
		counts(t, session, 1)
		expectLives(t, server)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The end of an idle server is told by its standalone stream, at once: by nobody
// who listens any more, or by one who does not know the session.
func TestHTTPIdleLoss(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		s := newSite(t, nil)
		_, server := openHTTP(t, s)
		until(t, "the stream is open", func() bool { return s.count("GET ") == 1 })
		ended := time.Now()
		if restarted {
			successor := transporttest.NewServer()
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return successor }, nil)
			s.put(func(w http.ResponseWriter, request *http.Request, _ string) bool {
				handler.ServeHTTP(w, request)
				return true
			})
		} else {
			_ = s.Listener.Close()
		}
		s.CloseClientConnections()
		cause := awaitGone(t, server)
		if !strings.Contains(cause, "event stream broke") {
			t.Error(cause)
		}
		if took := time.Since(ended); took > patience/4 {
			t.Errorf("it took %v", took)
		}
		if s.count("POST initialize") != 1 || s.count("DELETE ") != 0 {
			t.Errorf("there were %q", s.seen)
		}
	}
}

// A server without a standalone stream is found gone by keep-alive pings, where the
// client has them.
func TestHTTPKeepAlive(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.answer(http.MethodGet, http.StatusMethodNotAllowed, "", "")
	server := watched(t, transport.HTTP(s.URL))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{KeepAlive: time.Second})
	if _, err := client.Connect(t.Context(), server, stateful); err != nil {
		t.Fatal(err)
	}
	until(t, "there were pings", func() bool { return s.count("POST ping") > 1 })
	expectLives(t, server)
	s.answer("ping", http.StatusNotFound, "text/plain", "session not found")
	if cause := awaitGone(t, server); !strings.Contains(cause, "404") {
		t.Error(cause)
	}
}

// A slow answer is ended by the caller's patience only.
func TestHTTPSlow(t *testing.T) {
	t.Parallel()
	for _, answer := range []*mcp.StreamableHTTPOptions{{}, {JSONResponse: true}} {
		s := newSite(t, answer)
		session, server := openHTTP(t, s)
		ctx, cancel := context.WithCancelCause(t.Context())
		ctx, send := transport.TrackSend(ctx)
		failed := make(chan error, 1)
		go func() { failed <- call(ctx, session, "wait", nil, nil) }()
		until(t, "the tool runs", func() bool {
			return mustCall[struct{ Waiting int }](t, session, "waits", nil).Waiting == 1
		})
		cancel(errors.New("CallTimeout"))
		if err := receive(t, "the end of the call", failed); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if send.Fault() != nil || !send.Began() {
			t.Errorf("fault %v, began %v", send.Fault(), send.Began())
		}
		until(t, "the tool is cancelled", func() bool {
			return mustCall[struct{ Cancelled int }](t, session, "waits", nil).Cancelled == 1
		})
		expectLives(t, server)
	}
}

// The DELETE is the end's courtesy. Only a server that has failed to heed it is told.
func TestHTTPDelete(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int // 0 is no answer
		says   string
	}{{204, ""}, {200, ""}, {404, ""}, {405, ""}, {501, ""}, {500, "HTTP 500"}, {403, "HTTP 403"}, {307, "HTTP 307"}, {0, "did not end"}} {
		t.Run(fmt.Sprint(test.status), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			session, server := openHTTP(t, s)
			s.put(func(w http.ResponseWriter, request *http.Request, _ string) bool {
				if request.Method != http.MethodDelete {
					return false
				}
				if test.status == 0 {
					<-request.Context().Done()
				} else {
					w.WriteHeader(test.status)
				}
				return true
			})
			err := server.Close()
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("close: %v", err)
			}
			if err := server.Cause(); err != nil {
				t.Errorf("cause: %v", err)
			}
			if err := session.Close(); err != nil {
				t.Errorf("close of the session: %v", err)
			}
			if n := s.count("DELETE "); n != 1 {
				t.Errorf("there were %d DELETEs", n)
			}
		})
	}
}

// A session has connections of its own, and leaves none.
func TestHTTPLeavesNoConnection(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, options := range [][]transport.Option{nil, {transport.WithSSE()}} {
		if options != nil {
			s.serve(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s.tools }, nil))
		}
		session, server := openHTTP(t, s, options...)
		mustCall[struct{ Count int }](t, session, "incr", nil)
		if s.open.Load() == 0 {
			t.Fatal("no connection is open")
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		until(t, "no connection is open", func() bool { return s.open.Load() == 0 })
	}
}

// The legacy transport: the place for messages must be of the same origin, its id
// is never told, and a refused message fails its call alone.
func TestSSE(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.serve(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s.tools }, nil))
	session, server := openHTTP(t, s, transport.WithSSE())
	counts(t, session, 1)
	for _, test := range []struct {
		status int
		reason failure.Reason
		ran    failure.ToolRan
	}{
		{503, failure.ReasonUnavailable, failure.RanNo},
		{401, failure.ReasonUnauthorized, failure.RanNo},
		{502, failure.ReasonGateway, failure.RanUnknown},
	} {
		s.answer("tools/call", test.status, "text/plain", "")
		fault, err := faultOf(t, session, "incr")
		wantFault(t, fault, test.reason, test.ran)
		if !strings.Contains(err.Error(), fmt.Sprint(test.status)) || strings.Contains(err.Error(), "sessionid") {
			t.Error(err)
		}
	}
	s.put(nil)
	counts(t, session, 2)
	s.answer("tools/call", 404, "text/plain", "session not found")
	fault, _ := faultOf(t, session, "incr")
	wantFault(t, fault, failure.ReasonServerGone, failure.RanNo)
	awaitGone(t, server)

	for _, endpoint := range []string{"http://127.0.0.1:1/messages?sessionid=s3cret", "//elsewhere.example/?s3cret"} {
		s := newSite(t, nil)
		s.serve(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: endpoint\ndata: "+endpoint+"\n\n")
			_ = http.NewResponseController(w).Flush()
			<-request.Context().Done()
		}))
		ctx, send := transport.TrackSend(t.Context())
		_, err := connectStateful(ctx, watched(t, transport.HTTP(s.URL, transport.WithSSE())))
		if err == nil {
			t.Fatal("connected")
		}
		wantFault(t, send.Fault(), failure.ReasonRedirect, failure.RanNo)
		if !strings.Contains(send.Fault().Message, "origin") || strings.Contains(send.Fault().Message, "s3cret") {
			t.Error(send.Fault())
		}
	}
}

// What a server over SSE answers to the request for its stream.
func TestSSEOpening(t *testing.T) {
	t.Parallel()
	for status, reason := range map[int]failure.Reason{
		401: failure.ReasonUnauthorized, 404: failure.ReasonNotFound, 405: failure.ReasonRejected, 503: failure.ReasonUnavailable,
	} {
		s := newSite(t, nil)
		s.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		ctx, send := transport.TrackSend(t.Context())
		_, err := watched(t, transport.HTTP(s.URL, transport.WithSSE())).Connect(ctx)
		wantFault(t, send.Fault(), reason, failure.RanNo)
		if fault := (*transport.Fault)(nil); !errors.As(err, &fault) {
			t.Errorf("%d: %v", status, err)
		}
	}
	// A stream that never names a place for messages is waited for as long as the
	// caller does.
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-request.Context().Done()
	}))
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := watched(t, transport.HTTP(s.URL, transport.WithSSE())).Connect(ctx); err == nil {
		t.Error("connected")
	}
}
