package auth

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// newCredentials returns the handler of the MCP SDK for the service.
func newCredentials() (auth.OAuthHandler, error) {
	return extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{ClientID: serviceID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: serviceSecret}},
		HTTPClient:  loginConfig(nil).Client,
	})
}

func credentials(t testing.TB) auth.OAuthHandler {
	t.Helper()
	handler, err := newCredentials()
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// C13: tokens that live for some seconds, a session that is held for several of those
// lives, and a time in which the authorization server renews nothing. All calls
// succeed but those of that time, which fail for their credential and not as lost; the
// session is the same throughout.
func TestTokenExpiresInLongSession(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]func(t *testing.T) auth.OAuthHandler{
		"authorization code": func(t *testing.T) auth.OAuthHandler { return login(t, browser, nil) },
		"client credentials": func(t *testing.T) auth.OAuthHandler { return credentials(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const lifetime = 3 * time.Second
			b := setup(t)
			a := newAuthorizationServer(t, lifetime)
			s := newSite(t, a.verify, a)
			b.host(session.Server{Name: "server", Connect: transport.HTTP(s.endpoint()+"?key=k", transport.WithOAuth(handler(t)))})
			d := b.drive()
			d.must("open", step{})
			calls := 0
			callFor := func(time_ time.Duration) {
				for until := time.Now().Add(time_); time.Now().Before(until); calls++ {
					if err := d.incr(); err != nil {
						t.Errorf("call %d: %v", calls, err)
					}
					pause(b, 300*time.Millisecond)
				}
			}
			callFor(3 * lifetime)
			before := s.tokens()

			a.put(down)
			var err error
			b.Eventually("a call fails", func() bool {
				if err = d.incr(); err == nil {
					calls++
				}
				return err != nil
			})
			b.wantCall(err, failure.ReasonUnauthorized, a.Listener.Addr().String()+" gave no token: it answered HTTP 503")
			b.wantCall(d.incr(), failure.ReasonUnauthorized, "HTTP 503")
			a.put(nil)
			callFor(2 * lifetime)

			if got := d.must("call", step{Tool: fixture.Get}); got != itoa(calls) {
				t.Errorf("the counter is %s after %d calls", got, calls)
			}
			if after := s.tokens(); before < 3 || after <= before {
				t.Errorf("there were %d tokens, then %d", before, after)
			}
			d.must("close", step{})
			s.expectOneSession(t, calls)
		})
	}
}

// C13: a static token is rotated in the worker's secret source, in the middle of a
// session.
func TestStaticTokenRotated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	source := &secretSource{}
	source.rotate("static-token-1")
	s := newSite(t, source.verify, nil)
	b.host(session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithBearer(source.get))})
	d := b.drive()
	d.must("open", step{})
	d.must("call", step{Tool: fixture.Incr})
	source.rotate("static-token-2")
	d.must("call", step{Tool: fixture.Incr})
	source.accept("static-token-3") // which the source does not have yet
	b.wantCall(d.incr(), failure.ReasonUnauthorized, "WithBearer")
	source.rotate("static-token-3")
	d.must("call", step{Tool: fixture.Incr})
	if got := d.must("call", step{Tool: fixture.Get}); got != "3" {
		t.Errorf("the counter is %s", got)
	}
	d.must("close", step{})
	s.expectOneSession(t, 4)
	if n := source.times(); n != 4 {
		t.Errorf("the source was asked %d times", n)
	}
}
