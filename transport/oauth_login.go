package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

const (
	// earlyRenewal is how long before its end a token is renewed. It is short since
	// a server that has another clock says so, and the token is renewed then.
	earlyRenewal = time.Second
	// authorizationTimeout bounds a request to an authorization server, unless the
	// caller gives a client.
	authorizationTimeout = 20 * time.Second
)

// AuthorizationCode returns a handler for [WithOAuth] that renews what a person's
// login gave, by the MCP SDK's authorization code flow with PKCE. The grant is kept in
// the store; nil keeps it in memory alone. So one program logs in, with a fetcher:
//
//	config := &auth.AuthorizationCodeHandlerConfig{
//		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
//			ClientName: "agents", RedirectURIs: []string{"http://localhost:8085/callback"},
//			GrantTypes: []string{"authorization_code", "refresh_token"},
//		}},
//		AuthorizationCodeFetcher: openBrowser,
//	}
//
// and the workers, with the same store and a config without a fetcher, never need a
// browser. There a session for which a login is missing, has expired or was revoked
// fails to open, for good and as unauthorized, with a text that says so; a call in
// a session fails as unauthorized. After a login anywhere that shares the store, the
// next call works.
//
// When a server answers 401 a token is renewed even if it has not expired, and only
// if that is refused a login is asked for. InitialTokenSource and NewTokenSource of
// config must be nil: they are what this function is for. Config is copied. Without
// a Client in it requests may take 20 s. The handler is safe for concurrent use, and
// for use with the MCP SDK's own transports.
func AuthorizationCode(config *auth.AuthorizationCodeHandlerConfig, store TokenStore) (auth.OAuthHandler, error) {
	if config == nil {
		return nil, errors.New("transport: AuthorizationCode was given a nil config")
	}
	if config.InitialTokenSource != nil || config.NewTokenSource != nil {
		return nil, errors.New("transport: the config of AuthorizationCode has an InitialTokenSource or a NewTokenSource; the store takes their place, leave them out")
	}
	own := *config
	l := &login{store: store, turn: make(chan struct{}, 1)}
	own.NewTokenSource = l.granted
	if own.AuthorizationCodeFetcher == nil {
		own.AuthorizationCodeFetcher = l.nobody
	}
	if own.Client == nil {
		own.Client = &http.Client{Timeout: authorizationTimeout}
	}
	l.client = own.Client
	if dynamic := own.DynamicClientRegistrationConfig; dynamic != nil && dynamic.Metadata != nil {
		metadata := *dynamic.Metadata // the MCP SDK completes it
		own.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &metadata}
	}
	var err error
	if l.flow, err = auth.NewAuthorizationCodeHandler(&own); err != nil {
		return nil, fmt.Errorf("transport: the config of AuthorizationCode: %w", err)
	}
	return l, nil
}

// A login is the handler of [AuthorizationCode].
type login struct {
	flow   *auth.AuthorizationCodeHandler
	store  TokenStore // may be nil
	client *http.Client
	turn   chan struct{} // has room for one: whoever put a value in may use what follows

	grant   *Grant // nil before there is one, and when it is of no more use
	unsaved bool
	refused string // the refresh token that the authorization server has refused
}

func (l *login) take(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TokenSource implements [auth.OAuthHandler]. It renews the token if that has expired;
// the source is nil if only a login helps.
func (l *login) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	defer func() { <-l.turn }()
	if l.unsaved {
		l.save(ctx)
	}
	if !l.grant.usable("") {
		if err := l.renew(ctx, ""); err != nil {
			if l.grant != nil && time.Now().Before(l.grant.Expiry) {
				return l.grant.source(), nil // it is good for a moment yet
			}
			return nil, err
		}
	}
	if l.grant == nil {
		return nil, nil
	}
	return l.grant.source(), nil
}

// Authorize implements [auth.OAuthHandler].
func (l *login) Authorize(ctx context.Context, request *http.Request, response *http.Response) error {
	if err := l.take(ctx); err != nil {
		_ = response.Body.Close()
		return err
	}
	defer func() { <-l.turn }()
	_, token, _ := strings.Cut(request.Header.Get(authorizationHeader), " ")
	if response.StatusCode == http.StatusUnauthorized && token != "" {
		if l.grant.usable(token) {
			_ = response.Body.Close()
			return nil
		}
		if err := l.renew(ctx, token); err != nil || l.grant != nil {
			_ = response.Body.Close()
			return err
		}
	}
	return l.flow.Authorize(ctx, request, response) // calls granted
}

// renew makes the grant one that is usable, and another than that with the refused
// token. There is none afterwards if it takes a login.
func (l *login) renew(ctx context.Context, refused string) error {
	if l.store != nil && !l.unsaved {
		// Somebody else may have logged in, or renewed it.
		stored, err := l.store.Load(ctx)
		if err != nil {
			return &loginError{"the token store failed: " + l.grant.cutFrom(err.Error()), true}
		}
		if stored != nil && (stored.RefreshToken == "" || stored.RefreshToken != l.refused) {
			copied := *stored
			l.grant = &copied
		}
	}
	if l.grant.usable(refused) {
		return nil
	}
	if l.grant == nil || l.grant.RefreshToken == "" || l.grant.RefreshToken == l.refused {
		l.grant = nil
		return nil
	}
	token, err := l.grant.renewed(context.WithValue(ctx, oauth2.HTTPClient, l.client))
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.ErrorCode == "invalid_grant" {
		l.refused, l.grant = l.grant.RefreshToken, nil
		return nil
	}
	if err != nil {
		return err
	}
	next := *l.grant
	next.take(token)
	l.grant = &next
	l.save(ctx)
	return nil
}

// granted is called in the middle of Authorize with what a login gave.
func (l *login) granted(ctx context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
	l.grant = &Grant{
		TokenURL: config.Endpoint.TokenURL, AuthStyle: config.Endpoint.AuthStyle,
		ClientID: config.ClientID, ClientSecret: config.ClientSecret, Scopes: slices.Clone(config.Scopes),
	}
	l.grant.take(token)
	l.save(ctx)
	return oauth2.StaticTokenSource(token), nil
}

// save keeps the grant. It goes on without: what is renewed can't be taken back.
func (l *login) save(ctx context.Context) {
	if l.store == nil || l.grant == nil {
		return
	}
	saved := *l.grant
	if err := l.store.Save(ctx, &saved); err != nil {
		l.unsaved = true
		slog.Default().Warn("mcpsession: a token store did not save a grant; it is used all the same, but is lost with this process unless a later save succeeds",
			"error", saved.cutFrom(err.Error()))
		return
	}
	l.unsaved = false
}

// nobody is the fetcher where no person can log in.
func (l *login) nobody(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	host := "the authorization server"
	if u, err := url.Parse(args.URL); err == nil && u.Host != "" {
		host += " " + u.Host
	}
	why := "no login is stored"
	if l.refused != "" {
		why = "the login that is stored has expired or was revoked (invalid_grant)"
	}
	return nil, &loginError{fmt.Sprintf("%s, and a login at %s is needed: log in by a program that has an AuthorizationCodeFetcher and the same token store", why, host), false}
}

// cutFrom returns a text, such as a store's error, without the grant's secrets.
func (g *Grant) cutFrom(text string) string {
	if g == nil {
		return text
	}
	return newRedactor([]string{g.AccessToken, g.RefreshToken, g.ClientSecret}).replacer.Replace(text)
}

// A loginError says what is wrong with a login in words of our own.
type loginError struct {
	text   string
	passes bool // by itself
}

func (e *loginError) Error() string { return e.text }

// usable reports whether there is a token that has not expired and is another than
// that.
func (g *Grant) usable(refused string) bool {
	return g != nil && g.AccessToken != "" && g.AccessToken != refused &&
		(g.Expiry.IsZero() || time.Until(g.Expiry) > earlyRenewal)
}

func (g *Grant) source() oauth2.TokenSource {
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: g.AccessToken, TokenType: g.TokenType, Expiry: g.Expiry})
}

// renewed asks the authorization server for another token.
func (g *Grant) renewed(ctx context.Context) (*oauth2.Token, error) {
	config := &oauth2.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.AuthStyle},
	}
	return config.TokenSource(ctx, &oauth2.Token{RefreshToken: g.RefreshToken}).Token()
}

func (g *Grant) take(token *oauth2.Token) {
	g.AccessToken, g.TokenType, g.Expiry = token.AccessToken, token.TokenType, token.Expiry
	if token.RefreshToken != "" {
		g.RefreshToken = token.RefreshToken
	}
}
