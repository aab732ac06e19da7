package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// The clients that are registered from the start.
const (
	serviceID     = "service"
	serviceSecret = "client-secret-of-the-service"
)

// A grantFault answers a request for a token in place of the server; it returns
// whether it has.
type grantFault func(w http.ResponseWriter, form url.Values) bool

// An authorizationServer is one of OAuth 2.1, in this process: metadata, dynamic
// registration, authorization code with PKCE, client credentials, refresh tokens that
// are given anew at each renewal. A refresh token that comes twice revokes all of its
// login, as one that was stolen.
type authorizationServer struct {
	*httptest.Server

	mu       sync.Mutex
	lifetime time.Duration // of access tokens
	fault    grantFault
	clients  map[string]*oauthClient
	codes    map[string]*oauthCode
	refresh  map[string]*oauthLogin // by refresh token, old ones too
	access   map[string]*oauthAccess
	grants   map[string]int      // requests for tokens, by grant type
	secrets  map[string][]string // all that was ever secret, by kind
}

type oauthClient struct {
	secret    string
	redirects []string
}

type oauthCode struct {
	client, redirect, challenge, scope string
}

type oauthLogin struct {
	client, current, scope string
	revoked                bool
}

type oauthAccess struct {
	login  *oauthLogin // nil for client credentials
	scopes []string
	ends   time.Time
	dead   bool
}

func newAuthorizationServer(t *testing.T, lifetime time.Duration) *authorizationServer {
	t.Helper()
	a := &authorizationServer{
		lifetime: lifetime,
		clients:  map[string]*oauthClient{serviceID: {secret: serviceSecret}},
		codes:    make(map[string]*oauthCode), refresh: make(map[string]*oauthLogin),
		access: make(map[string]*oauthAccess), grants: make(map[string]int),
		secrets: map[string][]string{"client secret": {serviceSecret}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", a.metadata)
	mux.HandleFunc("POST /register", a.register)
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Server.Close)
	return a
}

func (a *authorizationServer) metadata(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, map[string]any{
		"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
		"registration_endpoint": a.URL + "/register", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported":      []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"client_secret_post"},
	})
}

// register is RFC 7591.
func (a *authorizationServer) register(w http.ResponseWriter, request *http.Request) {
	var asked struct {
		RedirectURIs []string `json:"redirect_uris"`
	}
	if json.NewDecoder(request.Body).Decode(&asked) != nil || len(asked.RedirectURIs) == 0 {
		refuse(w, http.StatusBadRequest, "invalid_redirect_uri")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	id, secret := "client-"+rand.Text(), a.newSecret("client secret")
	a.clients[id] = &oauthClient{secret: secret, redirects: asked.RedirectURIs}
	answerJSON(w, http.StatusCreated, map[string]any{
		"client_id": id, "client_secret": secret, "redirect_uris": asked.RedirectURIs, "token_endpoint_auth_method": "client_secret_post",
	})
}

// authorize is what a person's browser asks for; this one always consents.
func (a *authorizationServer) authorize(w http.ResponseWriter, request *http.Request) {
	q := request.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	client := a.clients[q.Get("client_id")]
	if client == nil || !slices.Contains(client.redirects, q.Get("redirect_uri")) || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("resource") == "" || strings.Contains(q.Get("resource"), "?") {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	code := a.newSecret("authorization code")
	a.codes[code] = &oauthCode{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("scope")}
	http.Redirect(w, request, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (a *authorizationServer) token(w http.ResponseWriter, request *http.Request) {
	_ = request.ParseForm()
	form := request.PostForm
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grants[form.Get("grant_type")]++
	if verifier := form.Get("code_verifier"); verifier != "" {
		a.secrets["PKCE verifier"] = append(a.secrets["PKCE verifier"], verifier)
	}
	if a.fault != nil && a.fault(w, form) {
		return
	}
	client := a.clients[form.Get("client_id")]
	if client == nil || client.secret != form.Get("client_secret") {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		code := a.codes[form.Get("code")]
		delete(a.codes, form.Get("code")) // it counts once
		challenge := sha256.Sum256([]byte(form.Get("code_verifier")))
		if code == nil || code.client != form.Get("client_id") || code.redirect != form.Get("redirect_uri") ||
			code.challenge != base64.RawURLEncoding.EncodeToString(challenge[:]) {
			refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
		a.give(w, &oauthLogin{client: code.client, scope: code.scope}, code.scope)
	case "refresh_token":
		login := a.refresh[form.Get("refresh_token")]
		switch {
		case login == nil || login.revoked || login.client != form.Get("client_id"):
			refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		case login.current != form.Get("refresh_token"):
			login.revoked = true
			refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
		a.give(w, login, login.scope)
	case "client_credentials":
		a.give(w, nil, form.Get("scope"))
	default:
		refuse(w, http.StatusBadRequest, "unsupported_grant_type")
	}
}

// give answers with tokens of a login, or of the client itself.
func (a *authorizationServer) give(w http.ResponseWriter, login *oauthLogin, scope string) {
	access := a.newSecret("access token")
	a.access[access] = &oauthAccess{login: login, scopes: strings.Fields(scope), ends: time.Now().Add(a.lifetime)}
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(a.lifetime.Seconds()), "scope": scope}
	if login != nil {
		login.current = a.newSecret("refresh token")
		a.refresh[login.current] = login
		answer["refresh_token"] = login.current
	}
	answerJSON(w, http.StatusOK, answer)
}

func (a *authorizationServer) newSecret(kind string) string {
	secret := strings.ReplaceAll(kind, " ", "-") + "-" + rand.Text()
	a.secrets[kind] = append(a.secrets[kind], secret)
	return secret
}

// verify is an [auth.TokenVerifier].
func (a *authorizationServer) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	access := a.access[token]
	if access == nil || access.dead || access.login != nil && access.login.revoked {
		return nil, fmt.Errorf("%w: the token %s is unknown or was revoked", auth.ErrInvalidToken, token)
	}
	// The user of a session must stay the same: the MCP SDK's server sees to it.
	return &auth.TokenInfo{Scopes: access.scopes, Expiration: access.ends, UserID: "one"}, nil
}

// put makes a fault answer requests for tokens from now on; nil ends that.
func (a *authorizationServer) put(fault grantFault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = fault
}

// down is a fault in which the server is out of order, and talks too much.
func down(w http.ResponseWriter, form url.Values) bool {
	http.Error(w, "cannot handle "+form.Encode(), http.StatusServiceUnavailable)
	return true
}

// count returns how many requests for tokens there were.
func (a *authorizationServer) count(grantType string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.grants[grantType]
}

// revokeLogins ends all logins, and with them their tokens.
func (a *authorizationServer) revokeLogins() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, login := range a.refresh {
		login.revoked = true
	}
}

// killTokens makes all access tokens invalid before their time; logins stay.
func (a *authorizationServer) killTokens() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, access := range a.access {
		access.dead = true
	}
}

// planted returns all secrets so far, by kind.
func (a *authorizationServer) planted() map[string][]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make(map[string][]string, len(a.secrets))
	for kind, values := range a.secrets {
		all[kind] = slices.Clone(values)
	}
	return all
}

// browser is an [auth.AuthorizationCodeFetcher]: a person who logs in and consents.
func browser(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	at, err := response.Location()
	if err != nil {
		return nil, fmt.Errorf("the browser got HTTP %d", response.StatusCode)
	}
	return &auth.AuthorizationResult{Code: at.Query().Get("code"), State: at.Query().Get("state")}, nil
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, code string) {
	answerJSON(w, status, map[string]any{"error": code})
}
