//go:build unix

package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/transport"
)

// A URL that can't be used is told at once, and not repeated: it may hold secrets.
func TestHTTPBadURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ url, says string }{
		{"", "scheme"},
		{"example.com/mcp", "scheme"},
		{"ftp://example.com/mcp", `"ftp"`},
		{"http:///mcp", "no host"},
		{"http://user:s3cret-password@example.com/mcp", "WithHeaders"},
		{"http://example.com/mcp?key=s3cret password", "a space in its query"},
		{"http://exa mple/s3cret-password", "can't be parsed"},
	} {
		_, err := transport.HTTP(test.url)(t.Context(), nil)
		var permanent *transport.PermanentError
		if !errors.As(err, &permanent) || permanent.Reason != "bad-option" {
			t.Errorf("%q: %v", test.url, err)
			continue
		}
		if !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", test.url, err)
		}
	}
}

// While there is no session yet, a reply says whether another try can help.
func TestHTTPOpening(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status    int
		reason    failure.Reason
		permanent bool
		says      string
	}{
		{401, failure.ReasonUnauthorized, true, "WithHeaders"},
		{403, failure.ReasonForbidden, true, "WithHeaders"},
		{404, failure.ReasonNotFound, true, "WithSSE"},
		{405, failure.ReasonRejected, true, "WithSSE"},
		{429, failure.ReasonRateLimited, false, "later"},
		{500, failure.ReasonServerError, false, "500"},
		{502, failure.ReasonGateway, false, "502"},
		{503, failure.ReasonUnavailable, false, "later"},
	} {
		s := newSite(t, nil)
		s.answer("initialize", test.status, "text/plain", "go away")
		server := watched(t, transport.HTTP(s.URL))
		ctx, send := transport.TrackSend(t.Context())
		if _, err := connectStateful(ctx, server); err == nil {
			t.Fatalf("%d: connected", test.status)
		}
		fault := send.Fault()
		wantFault(t, fault, test.reason, failure.RanNo)
		if fault.Permanent != test.permanent || !strings.Contains(fault.Message, test.says) || fault.Peer != "go away" {
			t.Errorf("%d: %+v", test.status, fault)
		}
	}
}

// Nobody listens: that may change.
func TestHTTPUnreachable(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.Close()
	server := watched(t, transport.HTTP(s.URL))
	ctx, send := transport.TrackSend(t.Context())
	if _, err := connectStateful(ctx, server); err == nil {
		t.Fatal("connected")
	}
	wantFault(t, send.Fault(), failure.ReasonUnreachable, failure.RanNo)
	if send.Fault().Permanent || send.Began() {
		t.Errorf("fault %+v, began %v", send.Fault(), send.Began())
	}
}

// Headers come with every request, of what kind it may be, and are asked for once
// for each connection.
func TestHTTPHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	asked := 0
	connector := transport.HTTP(s.URL, transport.WithHeaders(func(context.Context) (http.Header, error) {
		asked++
		return http.Header{"authorization": {"Bearer number-" + strings.Repeat("x", asked)}}, nil
	}))
	for n := 1; n <= 2; n++ {
		server := watched(t, connector)
		if asked != n-1 {
			t.Fatalf("asked %d times before connect %d", asked, n)
		}
		session, err := connectStateful(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		counts(t, session, 1)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		want := "Bearer number-" + strings.Repeat("x", n)
		for i, header := range s.headers {
			if got := header.Values("Authorization"); !slices.Equal(got, []string{want}) {
				t.Errorf("%s came with %q, want %q", s.seen[i], got, want)
			}
		}
		if s.count("GET ") != 1 || s.count("DELETE ") != 1 {
			t.Errorf("there were %q", s.seen)
		}
		s.seen, s.headers = nil, nil
	}
}

// Headers that can't be used, and functions that fail, fail the connect without a
// request. A value is never told.
func TestHTTPBadHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	sealed := errors.New("the vault is sealed")
	for _, test := range []struct {
		headers   func(context.Context) (http.Header, error)
		permanent bool
		says      string
	}{
		{func(context.Context) (http.Header, error) { return nil, sealed }, false, "the vault is sealed"},
		{func(context.Context) (http.Header, error) { return nil, transport.Permanent("x", sealed) }, true, "the vault is sealed"},
		{func(context.Context) (http.Header, error) { panic("no vault") }, false, "panicked with a string"},
		{func(context.Context) (http.Header, error) {
			return http.Header{"mcp-session-id": {"s3cret-value"}}, nil
		}, true, "sets itself"},
		{func(context.Context) (http.Header, error) {
			return http.Header{"X-Key": {"s3cret-value\n"}}, nil
		}, true, "trim"},
		{func(context.Context) (http.Header, error) { return http.Header{"X Key": {"s3cret-value"}}, nil }, true, "name"},
	} {
		_, err := watched(t, transport.HTTP(s.URL, transport.WithHeaders(test.headers))).Connect(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("connect: %v", err)
		}
		if errors.As(err, new(*transport.PermanentError)) != test.permanent {
			t.Errorf("permanent is %v: %v", !test.permanent, err)
		}
	}
	if len(s.seen) != 0 {
		t.Errorf("there were %q", s.seen)
	}
}

// The caller's client is not changed, and what it is told to do is done by its
// Transport.
func TestHTTPClient(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	requests := 0
	inner := &http.Transport{}
	t.Cleanup(inner.CloseIdleConnections)
	base := tripper(func(request *http.Request) (*http.Response, error) {
		requests++
		return inner.RoundTrip(request)
	})
	client := &http.Client{Transport: base, Timeout: time.Nanosecond}
	session, server := openHTTP(t, s, transport.WithHTTPClient(client))
	counts(t, session, 1)
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if requests != len(s.seen) || client.CheckRedirect != nil || client.Timeout != time.Nanosecond {
		t.Errorf("the client made %d requests of %d, and is %+v", requests, len(s.seen), client)
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

// Redirects that keep method, body and origin are followed; with any other
// nothing, and no header, goes anywhere.
func TestHTTPRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	t.Cleanup(other.Close)
	for _, test := range []struct {
		status   int
		location string
		follows  bool
	}{
		{307, "/elsewhere", true},
		{308, "/elsewhere", true},
		{301, "/elsewhere", false},
		{302, "/elsewhere", false},
		{303, "/elsewhere", false},
		{307, other.URL, false},
		{308, other.URL + "/key?s3cret", false},
		{302, other.URL, false},
		{307, "", false},
		{304, "", false},
	} {
		s := newSite(t, nil)
		session, _ := openHTTP(t, s)
		s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
			if method != "tools/call" || request.URL.Path != "/" {
				return false
			}
			w.Header().Set("Location", test.location)
			w.WriteHeader(test.status)
			return true
		})
		if test.follows {
			counts(t, session, 1)
			continue
		}
		fault, err := faultOf(t, session, "incr")
		wantFault(t, fault, failure.ReasonRedirect, failure.RanNo)
		if strings.Contains(err.Error()+fault.Message, "s3cret") {
			t.Errorf("%d: %v", test.status, err)
		}
		s.put(nil)
		counts(t, session, 1)
	}
	if elsewhere != 0 {
		t.Errorf("the other origin has got %d requests", elsewhere)
	}
	s := newSite(t, nil)
	session, _ := openHTTP(t, s)
	s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
		http.Redirect(w, request, "/", http.StatusTemporaryRedirect)
		return true
	})
	fault, _ := faultOf(t, session, "incr")
	wantFault(t, fault, failure.ReasonRedirect, failure.RanNo)
}

// What goes wrong in a session fails the call alone, says whether the tool ran,
// and the session counts on.
func TestHTTPCallFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	session, server := openHTTP(t, s)
	const page = "text/html"
	count := 0
	for _, test := range []struct {
		status            int
		contentType, body string
		reason            failure.Reason
		ran               failure.ToolRan
	}{
		{400, "text/plain", "count is missing", failure.ReasonRejected, failure.RanNo},
		{401, "text/plain", "", failure.ReasonUnauthorized, failure.RanNo},
		{403, page, "<h1>no</h1>", failure.ReasonForbidden, failure.RanNo},
		{413, "text/plain", "", failure.ReasonRejected, failure.RanNo},
		{429, "text/plain", "", failure.ReasonRateLimited, failure.RanNo},
		{500, "text/plain", "", failure.ReasonServerError, failure.RanUnknown},
		{502, page, "", failure.ReasonGateway, failure.RanUnknown},
		{503, page, "", failure.ReasonUnavailable, failure.RanNo},
		{504, page, "", failure.ReasonGateway, failure.RanUnknown},
		{200, page, "<h1>Welcome</h1>", failure.ReasonNoAnswer, failure.RanUnknown},
		{200, "application/json", "{", failure.ReasonNoAnswer, failure.RanUnknown},
		{200, "application/json", `{"jsonrpc":"2.0","id":77,"result":{}}`, failure.ReasonNoAnswer, failure.RanUnknown},
		{202, "", "", failure.ReasonNoAnswer, failure.RanUnknown},
		{200, "text/event-stream", "", failure.ReasonNoAnswer, failure.RanUnknown},
		{200, "text/event-stream", "data: {\n\nno field\n\n: comment\n\n", failure.ReasonNoAnswer, failure.RanUnknown},
		{200, "application/json", `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", transport.DefaultMaxMessage) + `"}`,
			failure.ReasonNoAnswer, failure.RanUnknown},
		{200, "text/event-stream", "data: " + strings.Repeat("x", transport.DefaultMaxMessage+1) + "\n\n", failure.ReasonNoAnswer, failure.RanUnknown},
	} {
		s.answer("tools/call", test.status, test.contentType, test.body)
		fault, err := faultOf(t, session, "incr")
		if fault == nil {
			t.Fatalf("%d %s: no fault: %v", test.status, test.contentType, err)
		}
		wantFault(t, fault, test.reason, test.ran)
		s.put(nil)
		count++
		counts(t, session, count)
	}
	select {
	case <-server.Gone():
		t.Errorf("the session is gone: %v", server.Cause())
	default:
	}
}

// A JSON-RPC error is the server's answer, whatever status it came with; a made-up
// id is no hindrance.
func TestHTTPProtocolErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	session, _ := openHTTP(t, s)
	for _, test := range []struct {
		status int
		id     string
	}{{200, "null"}, {-200, "null"}, {400, "null"}, {400, `"server-error"`}, {500, "null"}, {422, "null"}} {
		contentType, body := "application/json", `{"jsonrpc":"2.0","id":`+test.id+`,"error":{"code":-32602,"message":"count is no number","data":{"x":1}}}`
		if test.status < 0 { // in a stream
			test.status, contentType, body = -test.status, "text/event-stream", "data: "+body+"\n\n"
		}
		s.answer("tools/call", test.status, contentType, body)
		fault, err := faultOf(t, session, "incr")
		var rpc *jsonrpc.Error
		if fault != nil || !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams || string(rpc.Data) != `{"x":1}` {
			t.Errorf("%d, id %s: fault %+v, error %v", test.status, test.id, fault, err)
		}
	}
	s.put(nil)
	counts(t, session, 1)
}

// The ways in which servers say that they don't know a session any more. No tool
// ran, nothing is sent to the server after it, and the cause has no session id.
func TestHTTPSessionUnknown(t *testing.T) {
	t.Parallel()
	rpc := `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`
	for _, test := range []struct {
		status            int
		contentType, body string
	}{
		{404, "text/plain", "session not found"},
		{404, "text/html", "<h1>Not Found</h1>"},
		{404, "application/json", rpc},
		{400, "text/plain", "Bad Request: No valid session ID provided"},
		{400, "application/json", strings.Replace(rpc, "-32001", "-32000", 1)},
		{410, "text/plain", ""},
	} {
		s := newSite(t, nil)
		session, server := openHTTP(t, s)
		s.answer("tools/call", test.status, test.contentType, test.body)
		fault, _ := faultOf(t, session, "incr")
		wantFault(t, fault, failure.ReasonServerGone, failure.RanNo)
		cause := awaitGone(t, server)
		if strings.Contains(cause, s.sessionID()) {
			t.Errorf("the cause holds the session's id: %s", cause)
		}
		if s.count("DELETE ") != 0 || s.count("POST initialize") != 1 {
			t.Errorf("there were %q", s.seen)
		}
	}
}

// A JSON-RPC error with a 200 may speak of a session of the tool's: the server is
// asked, and its word counts.
func TestHTTPSessionUnknownInAnAnswer(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		for _, lost := range []bool{false, true} {
			s := newSite(t, nil)
			session, server := openHTTP(t, s)
			s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
				if request.Method != http.MethodPost || method == "ping" && !lost {
					return false
				}
				id := "2"
				if method == "ping" {
					id = `"mcpsession-probe"`
				}
				w.Header().Set("Content-Type", contentType)
				answer := `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32000,"message":"Session not found"}}`
				if contentType == "text/event-stream" {
					answer = "data: " + answer + "\n\n"
				}
				_, _ = io.WriteString(w, answer)
				return true
			})
			fault, err := faultOf(t, session, "incr")
			if lost {
				wantFault(t, fault, failure.ReasonServerGone, failure.RanNo)
				awaitGone(t, server)
				continue
			}
			if rpc := (*jsonrpc.Error)(nil); fault != nil || !errors.As(err, &rpc) || rpc.Code != -32000 {
				t.Errorf("fault %+v, error %v", fault, err)
			}
			s.put(nil)
			counts(t, session, 1)
		}
	}
}

// A server that answers in the name of another session has moved the call there:
// that session is not this one.
func TestHTTPOtherSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	session, server := openHTTP(t, s)
	s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
		if method == "tools/call" {
			w.Header().Set("Mcp-Session-Id", "s3cret-other")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
			return true
		}
		return false
	})
	fault, _ := faultOf(t, session, "incr")
	wantFault(t, fault, failure.ReasonServerGone, failure.RanUnknown)
	if cause := awaitGone(t, server); !strings.Contains(cause, "another session") || strings.Contains(cause, "s3cret") {
		t.Error(cause)
	}
}

// Sessionless servers are told from others, by version and by id.
func TestHTTPSessionless(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stateless bool
		version   string
		want      bool
	}{
		{false, "2025-11-25", false},
		{true, "2025-11-25", true},
		{true, "2026-07-28", true},
		{false, "2026-07-28", false}, // falls back to the version before
	} {
		s := newSite(t, &mcp.StreamableHTTPOptions{Stateless: test.stateless})
		server := watched(t, transport.HTTP(s.URL))
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		ctx, send := transport.TrackSend(t.Context())
		session, err := client.Connect(ctx, server, &mcp.ClientSessionOptions{ProtocolVersion: test.version})
		if err != nil {
			t.Fatal(err)
		}
		if send.Sessionless() != test.want || (session.ID() == "") != test.want {
			t.Errorf("%+v: sessionless is %v, the version %s", test, send.Sessionless(), session.InitializeResult().ProtocolVersion)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (s *site) sessionID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, header := range s.headers {
		if id := header.Get("Mcp-Session-Id"); id != "" {
			return id
		}
	}
	return "no session was named"
}
