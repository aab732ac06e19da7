//go:build unix

package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/transport"
	"github.com/mcpsession/mcpsession/transport/transporttest"
)

// A site is an MCP server over HTTP on which a test can put faults. A fault sees
// each request with the method of its message ("" for a GET or DELETE) and returns
// whether it has answered it.
type site struct {
	*httptest.Server
	tools   *mcp.Server
	handler http.Handler
	mu      sync.Mutex
	fault   func(w http.ResponseWriter, request *http.Request, method string) bool
	seen    []string     // HTTP method and message, of each request
	open    atomic.Int32 // connections
	headers []http.Header
}

func newSite(t *testing.T, options *mcp.StreamableHTTPOptions) *site {
	t.Helper()
	server := transporttest.NewServer()
	s := &site{tools: server, handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the connections that it cuts
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	var head struct{ Method string }
	_ = json.Unmarshal(body, &head)
	s.mu.Lock()
	fault, handler := s.fault, s.handler
	s.seen = append(s.seen, request.Method+" "+head.Method)
	s.headers = append(s.headers, request.Header.Clone())
	s.mu.Unlock()
	if fault != nil && fault(w, request, head.Method) {
		return
	}
	handler.ServeHTTP(w, request)
}

// put makes fault see the requests from now on.
func (s *site) put(fault func(w http.ResponseWriter, request *http.Request, method string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// serve makes another handler answer.
func (s *site) serve(handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// answer makes the site answer requests for one method so.
func (s *site) answer(method string, status int, contentType, body string) {
	s.put(func(w http.ResponseWriter, request *http.Request, m string) bool {
		if m != method && request.Method != method {
			return false
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	})
}

// count returns how many requests of a kind there were.
func (s *site) count(kind string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seen := range s.seen {
		if seen == kind {
			n++
		}
	}
	return n
}

func openHTTP(t *testing.T, s *site, options ...transport.Option) (*mcp.ClientSession, transport.Watched) {
	t.Helper()
	server := watched(t, transport.HTTP(s.URL, options...))
	session, err := connectStateful(t.Context(), server)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return session, server
}

func connectStateful(ctx context.Context, over mcp.Transport) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "transport_test", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return client.Connect(ctx, over, stateful)
}

// faultOf calls a tool and returns what the transport concluded of the failure.
func faultOf(t *testing.T, session *mcp.ClientSession, tool string) (*transport.Fault, error) {
	t.Helper()
	ctx, send := transport.TrackSend(t.Context())
	err := call(ctx, session, tool, nil, nil)
	if err == nil {
		t.Fatal("the call succeeded")
	}
	return send.Fault(), err
}

func wantFault(t *testing.T, fault *transport.Fault, reason failure.Reason, ran failure.ToolRan) {
	t.Helper()
	if fault == nil || fault.Reason != reason || fault.ToolRan != ran {
		t.Errorf("the fault is %+v, want reason %s and tool ran %s", fault, reason, ran)
	}
}

// counts calls incr, which must return want: the session lives.
func counts(t *testing.T, session *mcp.ClientSession, want int) {
	t.Helper()
	if got := mustCall[struct{ Count int }](t, session, "incr", nil).Count; got != want {
		t.Errorf("the count is %d, want %d", got, want)
	}
}
