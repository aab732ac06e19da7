package auth

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A person logs in once; workers that are started one after the other, without a
// browser, use and renew what that gave.
func TestRestartNeedsNoLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := newAuthorizationServer(t, 2*time.Second)
	s := newSite(t, a.verify, a)
	store := transport.FileTokenStore(b.File("grant"))
	logIn(t, s, store)
	d := b.drive()
	for range 3 {
		w := b.host(session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(login(t, nil, store)))})
		d.must("open", step{})
		renewed := a.count("refresh_token")
		b.Eventually("the token was renewed", func() bool {
			if err := d.incr(); err != nil {
				t.Fatal(err)
			}
			return a.count("refresh_token") > renewed
		})
		d.must("close", step{})
		w.Stop()
	}
	if n := a.count("authorization_code"); n != 1 {
		t.Errorf("there were %d logins", n)
	}
}

// A login that was revoked, and with it its refresh token: calls fail as unauthorized
// and a block fails to open for good, both with what is needed. After a new login
// elsewhere the session that was open goes on.
func TestRevokedLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := newAuthorizationServer(t, time.Hour)
	s := newSite(t, a.verify, a)
	store := transport.FileTokenStore(b.File("grant"))
	logIn(t, s, store)
	b.host(
		session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(login(t, nil, store)))},
		session.Server{Name: "restarted", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(login(t, nil, store)))},
		session.Server{Name: "without", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(login(t, nil, nil)))},
	)
	d := b.drive()
	d.must("open", step{})
	d.must("call", step{Tool: fixture.Incr})
	a.revokeLogins()
	for range 2 {
		b.wantCall(d.incr(), failure.ReasonUnauthorized, "has expired or was revoked (invalid_grant), and a login at")
	}
	for server, says := range map[string]string{
		"restarted": "has expired or was revoked (invalid_grant), and a login at",
		"without":   "no login is stored, and a login at",
	} {
		err := d.do("open", step{Server: server}, nil)
		dd, ok := failure.Open(err)
		if !ok || dd.Reason != failure.ReasonUnauthorized || dd.Attempt > 1 {
			t.Errorf("open %s: %v (%+v)", server, err, dd)
		}
		mentions(t, err.Error(), says)
	}
	logInAgain(t, s, store)
	renewals := a.count("refresh_token")
	d.must("call", step{Tool: fixture.Incr})
	if got := d.must("call", step{Tool: fixture.Get}); got != "2" {
		t.Errorf("the counter is %s", got)
	}
	if n := a.count("refresh_token"); n != renewals {
		t.Errorf("a refresh token that was refused came again: %d, then %d", renewals, n)
	}
}

func logInAgain(t *testing.T, s *site, store transport.TokenStore) {
	t.Helper()
	s.mu.Lock()
	requests := s.requests
	s.mu.Unlock()
	logIn(t, s, store)
	s.mu.Lock()
	s.requests = append(requests, s.requests...)
	s.mu.Unlock()
}

// A server that refuses the token fails the open for good, at the first attempt.
func TestBadTokenAtOpening(t *testing.T) {
	t.Parallel()
	b := setup(t)
	source := &secretSource{}
	source.rotate("static-token-1")
	source.accept("static-token-2")
	s := newSite(t, source.verify, nil)
	b.host(session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithBearer(source.get))})
	d := b.drive()
	err := d.do("open", step{}, nil)
	dd, ok := failure.Open(err)
	if !ok || dd.Reason != failure.ReasonUnauthorized {
		t.Errorf("open: %v (%+v)", err, dd)
	}
	if n := s.count("initialize"); n != 1 {
		t.Errorf("there were %d attempts", n)
	}
	// One that can't be had for a while is tried again.
	source.fail(errors.New("the vault is sealed"))
	opened := make(chan error, 1)
	go func() { opened <- d.do("open", step{}, nil) }()
	asked := source.times()
	b.Eventually("an attempt has failed", func() bool { return source.times() > asked })
	source.rotate("static-token-2")
	if err := <-opened; err != nil {
		t.Errorf("open: %v", err)
	}
}

// A store that does not save loses no session: the token is used, and saved as soon as
// that works. One that does not load fails the open for a while.
func TestTokenStoreFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := newAuthorizationServer(t, 2*time.Second)
	s := newSite(t, a.verify, a)
	store := &faultyStore{TokenStore: transport.FileTokenStore(b.File("grant"))}
	logIn(t, s, store)
	b.host(session.Server{Name: "server", Connect: transport.HTTP(s.endpoint(), transport.WithOAuth(login(t, nil, store)))})
	d := b.drive()
	store.fail(errors.New("the disk is gone"))
	opened := make(chan error, 1)
	go func() { opened <- d.do("open", step{}, nil) }()
	b.Eventually("the store was asked", func() bool { return store.loads() > 0 })
	store.fail(nil)
	if err := <-opened; err != nil {
		t.Fatalf("open: %v", err)
	}
	store.failSaves(errors.New("the disk is full"))
	renewed := a.count("refresh_token")
	b.Eventually("the token was renewed twice", func() bool {
		if err := d.incr(); err != nil {
			t.Fatal(err)
		}
		return a.count("refresh_token") > renewed+1
	})
	store.failSaves(nil)
	if err := d.incr(); err != nil {
		t.Fatal(err)
	}
	kept, err := store.TokenStore.Load(context.Background())
	if err != nil || kept == nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if login := a.refresh[kept.RefreshToken]; login == nil || login.current != kept.RefreshToken || login.revoked {
		t.Error("the store does not have the newest refresh token")
	}
}

type faultyStore struct {
	transport.TokenStore
	mu           sync.Mutex
	loaded       int
	failure      error
	failureSaves error
}

func (s *faultyStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
}

func (s *faultyStore) failSaves(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failureSaves = err
}

func (s *faultyStore) loads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

func (s *faultyStore) Load(ctx context.Context) (*transport.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded++
	if s.failure != nil {
		return nil, s.failure
	}
	return s.TokenStore.Load(ctx)
}

func (s *faultyStore) Save(ctx context.Context, grant *transport.Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failureSaves != nil {
		return s.failureSaves
	}
	return s.TokenStore.Save(ctx, grant)
}
