package auth

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// pause waits, as a workflow does between two calls of a long session. Nothing is
// expected to have happened after it.
func pause(b *bundle, d time.Duration) {
	select {
	case <-b.Ctx.Done():
	case <-time.After(d):
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// Twenty calls of two sessions with one handler are refused at once: the token is
// renewed once, and each runs once.
func TestRefusalsRenewOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := newAuthorizationServer(t, time.Hour)
	s := newSite(t, a.verify, a)
	store := transport.FileTokenStore(b.File("grant"))
	logIn(t, s, store)
	handler := login(t, nil, store)
	b.host(
		session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(handler))},
		session.Server{Name: "other", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(handler))},
	)
	d := b.drive()
	d.must("open", step{})
	d.must("open", step{Server: "other"})

	const each = 10
	a.killTokens()
	var mu sync.Mutex
	waiting, all := 0, make(chan struct{})
	s.putBefore(func(_ http.ResponseWriter, request *http.Request, method string) bool {
		if method == "tools/call" {
			mu.Lock()
			if waiting++; waiting == 2*each {
				close(all)
			}
			mu.Unlock()
			select {
			case <-all:
			case <-request.Context().Done():
			}
		}
		return false
	})
	var both sync.WaitGroup
	for _, server := range []string{"server", "other"} {
		both.Go(func() {
			var failed int
			if err := d.do("calls", step{Server: server, Tool: fixture.Incr, Calls: each}, &failed); err != nil || failed > 0 {
				t.Errorf("%d calls failed: %v", failed, err)
			}
		})
	}
	both.Wait()
	for _, server := range []string{"server", "other"} {
		if got := d.must("call", step{Server: server, Tool: fixture.Get}); got != itoa(each) {
			t.Errorf("the counter of %s is %s", server, got)
		}
	}
	if n := a.count("refresh_token"); n != 1 {
		t.Errorf("the token was renewed %d times", n)
	}
	if ids := s.sessions(); len(ids) != 2 {
		t.Errorf("there were the sessions %q", ids)
	}
}

// A call whose event stream breaks goes on after its token has become invalid: it is
// taken up with a new one, and was sent once.
func TestRefusalWhileStreaming(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := newAuthorizationServer(t, time.Hour)
	s := newSite(t, a.verify, a)
	b.host(session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(login(t, browser, nil)))})
	d := b.drive()
	d.must("open", step{})
	var id string
	s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case method == "tools/call":
			body, _ := io.ReadAll(request.Body)
			_, id, _ = strings.Cut(string(body), `"id":`)
			id, _, _ = strings.Cut(id, ",")
			_, _ = io.WriteString(w, "id: one\nretry: 1\ndata:\n\n")
			_ = http.NewResponseController(w).Flush()
			a.killTokens()
			panic(http.ErrAbortHandler)
		case request.Header.Get("Last-Event-Id") == "one":
			_, _ = fmt.Fprintf(w, "id: two\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n", id)
			return true
		}
		return false
	})
	if got := d.must("call", step{Tool: fixture.Incr}); got != "late" {
		t.Errorf("the result is %q", got)
	}
	s.put(nil)
	if got := d.must("call", step{Tool: fixture.Get}); got != "0" {
		t.Errorf("the counter is %s", got)
	}
	if n := s.count("tools/call"); n != 2 {
		t.Errorf("there were %d calls", n)
	}
	s.expectOneSession(t, 2)
}

// A 401 that stays and a 403 fail the call, whose session lives; a 403 that asks for
// another scope takes a login, which nobody can do here.
func TestRefusalsThatStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := newAuthorizationServer(t, time.Hour)
	s := newSite(t, a.verify, a)
	store := transport.FileTokenStore(b.File("grant"))
	logIn(t, s, store)
	b.host(session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(login(t, nil, store)))})
	d := b.drive()
	d.must("open", step{})

	s.put(answering("tools/call", http.StatusUnauthorized, "never"))
	b.wantCall(d.incr(), failure.ReasonUnauthorized, "WithOAuth")
	if n := s.count("tools/call"); n != 2 {
		t.Errorf("the call was sent %d times", n)
	}
	s.put(answering("tools/call", http.StatusForbidden, "not you"))
	b.wantCall(d.incr(), failure.ReasonForbidden, "403")
	if n := s.count("tools/call"); n != 3 {
		t.Errorf("the call was sent %d times", n-2)
	}
	s.put(answering("tools/call", http.StatusForbidden, "not that", `WWW-Authenticate: Bearer error="insufficient_scope", scope="mcp admin"`))
	b.wantCall(d.incr(), failure.ReasonUnauthorized, "a login at the authorization server "+a.Listener.Addr().String()+" is needed")
	s.put(nil)
	if err := d.incr(); err != nil {
		t.Error(err)
	}
	d.must("close", step{})
	s.expectOneSession(t, 2)
}

// A 403 that asks for another scope is answered by a login for it, where somebody can
// log in.
func TestAnotherScope(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := newAuthorizationServer(t, time.Hour)
	s := newSite(t, a.verify, a)
	b.host(session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(login(t, browser, nil)))})
	d := b.drive()
	d.must("open", step{})
	s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
		_, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
		info, err := a.verify(request.Context(), token, request)
		if method != "tools/call" || err == nil && strings.Contains(strings.Join(info.Scopes, " "), "admin") {
			return false
		}
		return answering(method, http.StatusForbidden, "not that", `WWW-Authenticate: Bearer error="insufficient_scope", scope="mcp admin"`)(w, request, method)
	})
	for range 2 {
		if err := d.incr(); err != nil {
			t.Error(err)
		}
	}
	if n := a.count("authorization_code"); n != 2 {
		t.Errorf("there were %d logins", n)
	}
	s.expectOneSession(t, 2)
}

// A stateless call that is refused gets a new token on its connection. One that stays
// refused is made on another connection, which fails to open, and the next call opens
// one with a new token.
func TestStatelessRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	source := &secretSource{}
	source.rotate("static-token-1")
	s := newSiteOf(t, fixture.NewHTTP(&mcp.StreamableHTTPOptions{Stateless: true}), source.verify, nil)
	b.host(session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithBearer(source.get))})
	d := b.drive()
	d.must("stateless", step{Tool: fixture.Incr})
	source.rotate("static-token-2")
	d.must("stateless", step{Tool: fixture.Incr})
	if n := s.count("initialize") + s.count("server/discover"); n != 1 {
		t.Errorf("there were %d connections", n)
	}
	source.accept("static-token-3")
	err := d.do("stateless", step{Tool: fixture.Incr}, nil)
	if dd, ok := failure.Open(err); !ok || dd.Reason != failure.ReasonUnauthorized {
		t.Errorf("the refused call: %v", err)
	}
	mentions(t, err.Error(), "WithBearer")
	source.rotate("static-token-3")
	d.must("stateless", step{Tool: fixture.Incr})
}
