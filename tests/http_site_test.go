package tests

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A httpFault sees a request to a site with the method of its message, which is
// the HTTP method where there is none, and returns whether it has answered it.
type httpFault func(w http.ResponseWriter, request *http.Request, method string) bool

// A site is the fixture over HTTP behind a proxy that can put faults, and keeps
// account of what came.
type site struct {
	*bundle
	*httptest.Server
	address string

	mu      sync.Mutex
	fixture *fixture.HTTP
	fault   httpFault
	seen    []string
	headers []http.Header
}

func (b *bundle) site(serve *fixture.HTTP) *site {
	b.Helper()
	s := &site{bundle: b, address: "127.0.0.1:0", fixture: serve}
	s.listen()
	b.Cleanup(s.crash)
	return s
}

// listen makes somebody listen at the address.
func (s *site) listen() {
	s.Helper()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		s.Fatal(err)
	}
	s.address = listener.Addr().String()
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.handle))
	_ = s.Server.Listener.Close()
	s.Server.Listener = listener
	s.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Server.Start()
}

// crash ends the server: nobody listens, connections break, sessions are gone.
func (s *site) crash() {
	_ = s.Server.Listener.Close()
	s.Server.CloseClientConnections()
	s.fixture.Evict()
	s.Server.Close()
}

// restart crashes the server, and starts one that knows nothing of it.
func (s *site) restart(serve *fixture.HTTP) {
	s.Helper()
	s.crash()
	s.mu.Lock()
	s.fixture, s.seen = serve, nil
	s.mu.Unlock()
	s.listen()
}

func (s *site) handle(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	var message struct{ Method string }
	if json.Unmarshal(body, &message) != nil {
		message.Method = request.Method
	}
	s.mu.Lock()
	fault, handler := s.fault, s.fixture
	s.seen = append(s.seen, message.Method)
	s.headers = append(s.headers, request.Header.Clone())
	s.mu.Unlock()
	if fault == nil || !fault(w, request, message.Method) {
		handler.ServeHTTP(w, request)
	}
}

// put makes a fault see the requests from now on; nil ends that.
func (s *site) put(fault httpFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// count returns how many requests of a method there were since the last start.
func (s *site) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seen := range s.seen {
		if seen == method {
			n++
		}
	}
	return n
}

// A sessionRequest is a request of a session; one that opens a session has no id.
type sessionRequest struct{ session, method string }

// sessions returns the requests since the last start, in their order.
func (s *site) sessions() (all []sessionRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	headers := s.headers[len(s.headers)-len(s.seen):]
	for i, method := range s.seen {
		all = append(all, sessionRequest{headers[i].Get("Mcp-Session-Id"), method})
	}
	return all
}

// answering is a fault that answers requests of one method so.
func answering(method string, status int, contentType, body string) httpFault {
	return func(w http.ResponseWriter, _ *http.Request, m string) bool {
		if m != method {
			return false
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// withoutStream is a fault that a server without a standalone stream has.
func withoutStream(w http.ResponseWriter, _ *http.Request, method string) bool {
	if method == http.MethodGet {
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
	return method == http.MethodGet
}

// both is two faults in one.
func both(first, second httpFault) httpFault {
	return func(w http.ResponseWriter, request *http.Request, method string) bool {
		return first(w, request, method) || second(w, request, method)
	}
}

// severed is a fault that cuts the connection of one method's requests.
func severed(method string) httpFault {
	return func(_ http.ResponseWriter, _ *http.Request, m string) bool {
		if m == method {
			panic(http.ErrAbortHandler)
		}
		return false
	}
}

// hostSite starts a host of sessions on a site, and a driver.
func (b *bundle) hostSite(s *site, options ...transport.Option) *driver {
	b.Helper()
	b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(transport.HTTP(s.URL, options...))}})
	return b.drive(b.options(longHeartbeat))
}

// setupSite is a driver of blocks on a site.
func setupSite(t *testing.T, fault httpFault) (*bundle, *site, *driver) {
	t.Helper()
	b := setupFaults(t)
	s := b.site(fixture.NewHTTP(nil))
	s.put(fault)
	return b, s, b.hostSite(s)
}

// wantCallFailure fails the test unless err says that the call alone failed.
func (b *bundle) wantCallFailure(err error, reason failure.Reason, ran failure.ToolRan) failure.Details {
	b.Helper()
	d, ok := failure.Call(err)
	if !ok || d.Reason != reason || d.ToolRan != ran || d.Server != "counter" || d.Tool == "" {
		b.Errorf("the error is %v (%+v), want a CallFailure of reason %s, tool ran %s", err, d, reason, ran)
	}
	return d
}

// rpcError is a body with a JSON-RPC error.
func rpcError(id string, code int, message string) string {
	raw, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "error": map[string]any{"code": code, "message": message}})
	return string(raw)
}

// stateless is a server over HTTP that keeps nothing.
func stateless() *fixture.HTTP {
	return fixture.NewHTTP(&mcp.StreamableHTTPOptions{Stateless: true})
}

// isSilentOn fails the test if a text holds what must never be told.
func isSilentOn(t testing.TB, where, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if secret != "" && strings.Contains(text, secret) {
			t.Errorf("%s holds %q: …%s…", where, secret, around(text, secret))
		}
	}
}

func around(text, part string) string {
	at := strings.Index(text, part)
	return text[max(0, at-200):min(len(text), at+200)]
}

// messageID returns the id of a request's message, as JSON.
func messageID(request *http.Request) string {
	body, _ := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	var message struct{ ID json.RawMessage }
	if json.Unmarshal(body, &message) != nil || message.ID == nil {
		return "null"
	}
	return string(message.ID)
}
