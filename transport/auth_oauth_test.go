//go:build unix

package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/transport"
)

// A handler is an [auth.OAuthHandler] that a test makes misbehave. It notes whether two
// callers were in it at once, which that of the MCP SDK for client credentials is not
// safe for.
type handler struct {
	inside  atomic.Int32
	overlap atomic.Bool

	token      string // what it gives; none if empty
	next       string // what Authorize makes of that
	sourceErr  error
	authErr    error
	authorized int
	saw        []string // the URL and Authorization of each request that was refused
	block      chan struct{}
	panics     string
	kept       context.Context // of the last Authorize
	mu         *sync.Mutex     // of the test, to change the handler
}

func (h *handler) enter() (leave func()) {
	if h.inside.Add(1) > 1 {
		h.overlap.Store(true)
	}
	time.Sleep(100 * time.Microsecond) // for others to come
	return func() { h.inside.Add(-1) }
}

func (h *handler) TokenSource(context.Context) (oauth2.TokenSource, error) {
	defer h.enter()()
	h.mu.Lock()
	token, err, block, panics := h.token, h.sourceErr, h.block, h.panics
	h.mu.Unlock()
	if block != nil {
		<-block
	}
	if panics != "" {
		panic(panics)
	}
	if token == "" || err != nil {
		return nil, err
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}), nil
}

func (h *handler) Authorize(ctx context.Context, request *http.Request, response *http.Response) error {
	defer h.enter()()
	h.mu.Lock()
	defer h.mu.Unlock()
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	h.authorized++
	h.kept = ctx
	h.saw = append(h.saw, fmt.Sprint(request.URL, " ", request.Header.Get("Authorization"), " ", request.Header.Get("Mcp-Session-Id"), " ", string(body)))
	if h.authErr == nil {
		h.token = h.next
	}
	return h.authErr
}

func (h *handler) set(change func(*handler)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

// A handler is asked for each request, and authorizes once for those that are refused;
// it sees neither the URL's query nor the session's id, and its context lives on after
// it has succeeded, since it may keep that.
func TestOAuthHandler(t *testing.T) {
	t.Parallel()
	s, source := newSite(t, nil), newSecretSource()
	h := &handler{next: "token-number-1", mu: new(sync.Mutex)}
	s.put(source.guard(nil))
	server := watched(t, transport.HTTP(s.URL+"/?key=key-that-nobody-may-see", transport.WithOAuth(h)))
	session, err := connectStateful(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	counts(t, session, 1)
	firstID := s.sessionID()
	// Another session comes by the handler in an option of its own.
	other, _ := openHTTP(t, s, transport.WithOAuth(h))
	source.accept("token-number-2")
	h.set(func(h *handler) { h.next = "token-number-2" })
	var calling sync.WaitGroup
	for n := range 40 {
		calling.Go(func() {
			if err := call(t.Context(), []*mcp.ClientSession{session, other}[n%2], "incr", nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	calling.Wait()
	counts(t, session, 22)
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if h.overlap.Load() {
		t.Error("the handler was called twice at once")
	}
	h.set(func(h *handler) {
		if h.authorized != 2 || h.kept.Err() != nil {
			t.Errorf("it was authorized %d times; its context: %v", h.authorized, h.kept.Err())
		}
		saw := strings.Join(h.saw, "\n")
		if strings.Contains(saw, "key-that") || strings.Contains(saw, firstID) || strings.Contains(saw, s.sessionID()) || !strings.Contains(saw, " Bearer token-number-1") || !strings.Contains(saw, "no such token") {
			t.Errorf("the handler saw: %s", saw)
		}
	})
}

// A handler that fails, hangs or panics fails the call as unauthorized; the session
// lives, and goes on when the handler does. What an authorization server says is not
// told, in whatever error it comes.
func TestOAuthHandlerFails(t *testing.T) {
	t.Parallel()
	request, _ := http.NewRequest(http.MethodPost, "https://login.example/token?secret-query", nil)
	retrieve := func(status int, code string) error {
		return fmt.Errorf("refresh: %w", &oauth2.RetrieveError{
			Response: &http.Response{StatusCode: status, Status: "secret-status", Request: request},
			Body:     []byte("secret-body"), ErrorCode: code, ErrorDescription: "secret-description", ErrorURI: "secret-uri",
		})
	}
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, test := range map[string]struct {
		fault     func(*handler)
		says      string
		permanent bool
	}{
		"down":     {func(h *handler) { h.sourceErr = retrieve(503, "") }, "login.example gave no token: it answered HTTP 503 Service Unavailable", false},
		"odd code": {func(h *handler) { h.sourceErr = retrieve(400, "secret-code") }, "it answered HTTP 400 Bad Request", false},
		"revoked":  {func(h *handler) { h.sourceErr = retrieve(400, "invalid_grant") }, "(invalid_grant); a new login", true},
		"unreachable": {func(h *handler) {
			h.sourceErr = &url.Error{Op: "Post", URL: request.URL.String(), Err: errors.New("no route")}
		}, "login.example can't be reached: no route", false},
		"register":  {func(h *handler) { h.sourceErr = errors.New("failed to register client: 400 secret-body") }, "could not be registered", false},
		"told":      {func(h *handler) { h.sourceErr = errors.New("not with token-number-1") }, "not with [redacted]", false},
		"panics":    {func(h *handler) { h.panics = "secret-value" }, "panicked with a string", false},
		"hangs":     {func(h *handler) { h.block = release }, "no token came in time", false},
		"authorize": {func(h *handler) { h.token, h.authErr = "token-number-x", retrieve(500, "") }, "HTTP 500", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, source := newSite(t, nil), newSecretSource()
			s.put(source.guard(nil))
			h := &handler{token: "token-number-1", mu: new(sync.Mutex)}
			session, server := openHTTP(t, s, transport.WithOAuth(h), transport.WithTokenTimeout(500*time.Millisecond))
			counts(t, session, 1)
			h.set(test.fault)
			fault, err := faultOf(t, session, "incr")
			wantFault(t, fault, failure.ReasonUnauthorized, failure.RanNo)
			if fault == nil || !strings.Contains(fault.Message, test.says) || fault.Permanent != test.permanent {
				t.Errorf("the fault is %+v, want %q", fault, test.says)
			}
			if text := fmt.Sprint(err, fault); strings.Contains(text, "secret-") || strings.Contains(text, "token-number") {
				t.Error(text)
			}
			expectLives(t, server)
			if name == "hangs" {
				return
			}
			h.set(func(h *handler) { h.sourceErr, h.authErr, h.panics, h.token = nil, nil, "", "token-number-1" })
			counts(t, session, 2)
			expectSameSession(t, s)
		})
	}
}

// A session whose connections break while no credential can be had lives: nothing was
// said of it. Its stream is opened again once there is one.
func TestOAuthNothingIsConcluded(t *testing.T) {
	t.Parallel()
	s, source := newSite(t, nil), newSecretSource()
	s.put(source.guard(nil))
	h := &handler{token: "token-number-1", mu: new(sync.Mutex)}
	session, server := openHTTP(t, s, transport.WithOAuth(h))
	until(t, "the stream is open", func() bool { return s.count("GET ") == 1 })
	h.set(func(h *handler) { h.sourceErr = errors.New("not now") })
	s.CloseClientConnections()
	fault, _ := faultOf(t, session, "incr")
	wantFault(t, fault, failure.ReasonUnauthorized, failure.RanNo)
	expectLives(t, server)
	h.set(func(h *handler) { h.sourceErr = nil })
	until(t, "the stream is open again", func() bool { return s.count("GET ") == 2 })
	counts(t, session, 1)
	expectLives(t, server)
	// The DELETE can't be sent, and says so in bounded time.
	h.set(func(h *handler) { h.sourceErr = errors.New("not now") })
	if err := server.Close(); err == nil || !strings.Contains(err.Error(), "did not end the session: the request could not be authorized") {
		t.Errorf("close: %v", err)
	}
}

// A file store keeps a grant for its owner alone, replaces it as a whole, and says
// nothing of a file that it can't read.
func TestFileTokenStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "grant")
	store := transport.FileTokenStore(path)
	if grant, err := store.Load(t.Context()); grant != nil || err != nil {
		t.Fatalf("an empty store has %v, %v", grant, err)
	}
	grant := &transport.Grant{AccessToken: "secret-access", RefreshToken: "secret-refresh", ClientSecret: "secret-client", Expiry: time.Now().Round(0), Scopes: []string{"a"}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format+format, grant, *grant); strings.Contains(text, "secret-") {
			t.Errorf("%s tells %s", format, text)
		}
	}
	for range 2 {
		if err := store.Save(t.Context(), grant); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file is %v, %v", info.Mode(), err)
		}
		loaded, err := store.Load(t.Context())
		if err != nil || loaded.RefreshToken != "secret-refresh" || !loaded.Expiry.Equal(grant.Expiry) {
			t.Errorf("loaded %#v, %v", loaded, err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("there are %v", left)
	}
	if err := os.WriteFile(path, []byte(`{"access_token": secret-access`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context()); err == nil || strings.Contains(err.Error(), "secret-") || !strings.Contains(err.Error(), "log in again") {
		t.Errorf("load: %v", err)
	}
	if err := transport.FileTokenStore(filepath.Join(path, "x", "y")).Save(t.Context(), grant); err == nil {
		t.Error("it was saved in a directory that is not there")
	}
}

// A wrapper of a user, of a type that may or may not be comparable.
type wrapper struct {
	auth.OAuthHandler
	scopes any
}

// A handler whose value can't be compared is one of each connection.
func TestOAuthHandlerIsIncomparable(t *testing.T) {
	t.Parallel()
	s, source := newSite(t, nil), newSecretSource()
	s.put(source.guard(nil))
	h := wrapper{&handler{token: "token-number-1", mu: new(sync.Mutex)}, []string{"mcp"}}
	session, _ := openHTTP(t, s, transport.WithOAuth(h))
	counts(t, session, 1)
}
