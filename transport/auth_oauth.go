package transport

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// loginTimeout bounds one Authorize of a handler, in which a person may have to log
// in. Requests wait for [TokenTimeout] of it.
const loginTimeout = 10 * time.Minute

// An oauth is the authority of all connections with the same handler.
type oauth struct {
	handler auth.OAuthHandler
	logins  renewal[struct{}]
	tokens  renewal[string] // an Authorization, or nothing

	mu sync.Mutex // held while the handler is called

	holders int // guarded by handlers
}

// handlers has the authority of each handler that a connection has now, however the
// connections came to have the same.
var handlers struct {
	sync.Mutex
	of map[auth.OAuthHandler]*oauth
}

// holdOAuth returns the authority of a handler, until its release.
func holdOAuth(handler auth.OAuthHandler, patience time.Duration) *oauth {
	fresh := &oauth{handler: handler, logins: renewal[struct{}]{patience: patience}, tokens: renewal[string]{patience: patience}}
	if !reflect.ValueOf(handler).Comparable() {
		return fresh
	}
	handlers.Lock()
	defer handlers.Unlock()
	if handlers.of == nil {
		handlers.of = make(map[auth.OAuthHandler]*oauth)
	}
	o := handlers.of[handler]
	if o == nil {
		o = fresh
		handlers.of[handler] = o
	}
	o.holders++
	return o
}

func (o *oauth) release() {
	handlers.Lock()
	defer handlers.Unlock()
	if o.holders--; o.holders == 0 {
		delete(handlers.of, o.handler)
	}
}

func (o *oauth) name() string { return "WithOAuth" }

// current asks the handler, which renews a token that has expired.
func (o *oauth) current(ctx context.Context) (credential, error) {
	c := credential{round: o.logins.rounds()}
	var err error
	c.authorization, err = o.tokens.after(ctx, o.tokens.rounds(), context.Background(), TokenTimeout, func(ctx context.Context) (string, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		source, err := o.handler.TokenSource(ctx)
		if err != nil || source == nil {
			return "", err
		}
		token, err := source.Token()
		switch {
		case err != nil:
			return "", err
		case token == nil || token.AccessToken == "":
			return "", errors.New("the handler gave an empty token")
		}
		return token.Type() + " " + token.AccessToken, nil
	})
	return c, err
}

func (o *oauth) renewable(response *http.Response) bool {
	switch response.StatusCode {
	case http.StatusUnauthorized:
		return true
	case http.StatusForbidden:
		challenges, err := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
		if err != nil {
			return false
		}
		for _, c := range challenges {
			if c.Params["error"] == "insufficient_scope" {
				return true
			}
		}
	}
	return false
}

func (o *oauth) renew(ctx context.Context, refused credential, request *http.Request, response *http.Response) (credential, error) {
	// The token may have been renewed since, because its time was over.
	if c, err := o.current(ctx); err != nil || c.authorization != refused.authorization {
		return c, err
	}
	_, err := o.logins.after(ctx, refused.round, context.Background(), loginTimeout, func(ctx context.Context) (struct{}, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		return struct{}{}, o.handler.Authorize(ctx, request, response)
	})
	if err != nil {
		return credential{}, err
	}
	return o.current(ctx)
}
