package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A bearer is the authority of one connection with [WithBearer].
type bearer struct {
	ctx      context.Context // the connection's, its DELETE included
	cancel   context.CancelFunc
	fetch    func(context.Context) (string, error)
	renewals renewal[string]

	mu    sync.Mutex
	token string
}

func newBearer(fetch func(context.Context) (string, error), patience time.Duration, hung *atomic.Int32) *bearer {
	b := &bearer{fetch: fetch, renewals: renewal[string]{patience: patience, hung: hung}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// current returns the token in use. The first one has to be fetched.
func (b *bearer) current(ctx context.Context) (credential, error) {
	rounds := b.renewals.rounds()
	b.mu.Lock()
	token := b.token
	b.mu.Unlock()
	if token == "" {
		return b.after(ctx, rounds)
	}
	return credential{"Bearer " + token, rounds}, nil
}

func (b *bearer) renewable(response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized
}

func (b *bearer) renew(ctx context.Context, refused credential, _ *http.Request, _ *http.Response) (credential, error) {
	return b.after(ctx, refused.round)
}

// after returns the token of a renewal after that many.
func (b *bearer) after(ctx context.Context, rounds uint64) (credential, error) {
	token, err := b.renewals.after(ctx, rounds, b.ctx, b.renewals.patience, func(ctx context.Context) (string, error) {
		token, err := b.fetch(ctx)
		switch {
		case err != nil:
			return token, err // which may speak of the token
		case token == "":
			return "", errors.New("it gave an empty token")
		case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
			return token, errors.New("it gave a token with a space, a line break or another character that no token has; give the token alone, without Bearer")
		}
		b.mu.Lock()
		b.token = token
		b.mu.Unlock()
		return token, nil
	})
	if err != nil {
		return credential{authorization: token}, fmt.Errorf("the function given to WithBearer did not give a token: %w", err)
	}
	return credential{"Bearer " + token, b.renewals.rounds()}, nil
}

func (b *bearer) name() string { return "WithBearer" }

func (b *bearer) release() { b.cancel() }
