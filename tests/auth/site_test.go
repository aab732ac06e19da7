package auth

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A siteFault sees a request to a site with its message's method, and returns whether
// it has answered it.
type siteFault func(w http.ResponseWriter, request *http.Request, method string) bool

// A site is the fixture over HTTP behind a check of bearer tokens, which keeps account
// of what came.
type site struct {
	*httptest.Server

	mu       sync.Mutex
	before   siteFault // sees requests before their token is checked
	fault    siteFault // sees those that passed
	requests []siteRequest
}

type siteRequest struct{ method, session, authorization string }

// newSite serves the fixture to those who have a token that the verifier passes; to
// all, if it is nil. The authorization server is nil where there is none to be found.
func newSite(t *testing.T, verify auth.TokenVerifier, authorization *authorizationServer) *site {
	t.Helper()
	return newSiteOf(t, fixture.NewHTTP(nil), verify, authorization)
}

func newSiteOf(t *testing.T, mcpHandler *fixture.HTTP, verify auth.TokenVerifier, authorization *authorizationServer) *site {
	t.Helper()
	s := &site{}
	guarded := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		s.mu.Lock()
		fault := s.fault
		s.mu.Unlock()
		if fault == nil || !fault(w, request, methodOf(request)) {
			mcpHandler.ServeHTTP(w, request)
		}
	})
	mux := http.NewServeMux()
	options := &auth.RequireBearerTokenOptions{Scopes: []string{"mcp"}}
	s.Server = httptest.NewUnstartedServer(mux)
	s.Start()
	if authorization != nil {
		options.ResourceMetadataURL = s.URL + "/.well-known/oauth-protected-resource/mcp"
		mux.Handle("/.well-known/oauth-protected-resource/mcp", auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource: s.URL + "/mcp", AuthorizationServers: []string{authorization.URL}, ScopesSupported: []string{"mcp"},
		}))
	}
	var checked http.Handler = guarded
	if verify != nil {
		checked = auth.RequireBearerToken(verify, options)(guarded)
	}
	serve := func(w http.ResponseWriter, request *http.Request) {
		method := methodOf(request)
		s.mu.Lock()
		s.requests = append(s.requests, siteRequest{method, request.Header.Get("Mcp-Session-Id"), request.Header.Get("Authorization")})
		before := s.before
		s.mu.Unlock()
		if before == nil || !before(w, request, method) {
			checked.ServeHTTP(w, request)
		}
	}
	mux.HandleFunc("/mcp", serve)
	mux.HandleFunc("/mcp/", serve) // a path with a secret
	t.Cleanup(func() {
		s.CloseClientConnections()
		mcpHandler.Evict()
		s.Close()
	})
	return s
}

func (s *site) endpoint() string { return s.URL + "/mcp" }

// methodOf returns the method of a request's message, or its own.
func methodOf(request *http.Request) string {
	body, _ := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	var message struct{ Method string }
	if json.Unmarshal(body, &message) != nil {
		return request.Method
	}
	return message.Method
}

// put makes a fault see the requests that passed from now on; nil ends that.
func (s *site) put(fault siteFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// putBefore makes a fault see the requests before their token is checked.
func (s *site) putBefore(fault siteFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = fault
}

// count returns how many requests of a method there were.
func (s *site) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.requests {
		if request.method == method {
			n++
		}
	}
	return n
}

// sessions returns the session ids that were seen, each once.
func (s *site) sessions() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{"": true}
	for _, request := range s.requests {
		if !seen[request.session] {
			seen[request.session] = true
			ids = append(ids, request.session)
		}
	}
	return ids
}

// tokens returns how many tokens were seen.
func (s *site) tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[string]bool)
	for _, request := range s.requests {
		seen[request.authorization] = true
	}
	delete(seen, "")
	return len(seen)
}

// expectOneSession fails the test unless the server has seen one session and no more.
func (s *site) expectOneSession(t *testing.T, calls int) {
	t.Helper()
	// The one before the login was refused.
	if n := s.count("initialize"); n > 2 {
		t.Errorf("there were %d initializes", n)
	}
	if ids := s.sessions(); len(ids) != 1 {
		t.Errorf("the server saw the sessions %q", ids)
	}
	if n := s.count("tools/call"); n < calls {
		t.Errorf("the server saw %d calls, want %d", n, calls)
	}
}

// answering is a fault that answers one method so; header is "name: value".
func answering(method string, status int, body string, header ...string) siteFault {
	return func(w http.ResponseWriter, _ *http.Request, m string) bool {
		if m != method {
			return false
		}
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		http.Error(w, body, status)
		return true
	}
}
