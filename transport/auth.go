package transport

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// TokenTimeout is how long a request waits for a token: for the function of
// [WithBearer], or for the handler of [WithOAuth]. A request that waits in vain
// fails as unauthorized, and the session lives. A function that does not return is
// called no more until it does: not by its connection, and by no other once
// [MaxHungTokens] of its calls hang.
const TokenTimeout = 30 * time.Second

// MaxHungTokens is how many calls of a function of [WithBearer] may hang, each for
// another connection, before no more are made.
const MaxHungTokens = 16

// WithBearer sends a bearer token with every request of a session. The function is
// called once for each connection, when it is made, and again when the server
// answers 401 while the session lives: once for all the requests that are refused at
// the same time. They are sent once more with the new token, in the same session;
// a 401 says that nothing ran. A server, or a gateway, that answers 401 after a tool has
// run, because what it asked itself refused it say, breaks that: its tools may run twice.
//
// Where the function gives the token that was refused, or the server refuses the new
// one as well, the call fails as [failure.ReasonUnauthorized] and the session lives;
// the next request that is refused asks again. So it does where the function fails
// in mid-session. Its error when the connection is made fails that attempt to open,
// and is retried unless [Permanent] marks it. It may take [TokenTimeout]; a panic
// counts as an error, whose value is not told.
//
// The function returns the token alone, without "Bearer". Its context ends with the
// session. All tokens that it gave count as secrets, in its own errors too.
func WithBearer(token func(ctx context.Context) (string, error)) Option {
	hung := new(atomic.Int32)
	return func(o *httpOptions) { o.bearer, o.hasBearer, o.bearerHung = token, true, hung }
}

// WithOAuth sends the access tokens of a handler of the MCP SDK with every request of
// a session: one of [AuthorizationCode], which keeps what a login gave in a
// [TokenStore]; [extauth.ClientCredentialsHandler], for which nobody needs to log in;
// or one of your own. A token that expires is renewed without losing the session.
//
// For each request the handler is asked for its token. When the server answers 401,
// or 403 that asks for another scope, the handler's Authorize is called: once for all
// the requests that are refused at the same time, whichever session they are of; and
// they are sent once more, in the same session. While the handler fails, calls fail as
// [failure.ReasonUnauthorized] and no tool runs; later calls work without opening
// again. A handler is never called twice at a time, so one that is not safe for
// that, as that of the client credentials, may be shared.
//
// An error of an authorization server is told by its host, status and error code, never by
// its body, which may hold tokens. Give the handler an [http.Client] with a Timeout:
// requests wait for [TokenTimeout], but a handler that hangs can't be called again.
// The query of the server's URL is not told to the handler. Its token goes to every
// server that it is given for, so give each server a handler of its own.
//
// [extauth.ClientCredentialsHandler]: https://pkg.go.dev/github.com/modelcontextprotocol/go-sdk/auth/extauth#ClientCredentialsHandler
func WithOAuth(handler auth.OAuthHandler) Option {
	return func(o *httpOptions) { o.oauth, o.hasOAuth = handler, true }
}

// checkAuth tells what is wrong with the options for credentials.
func (o *httpOptions) checkAuth() error {
	switch {
	case o.hasBearer && o.hasOAuth:
		return errors.New("transport: HTTP was given both WithBearer and WithOAuth, which set the same header; leave one out")
	case o.hasBearer && o.bearer == nil:
		return errors.New("transport: WithBearer was given a nil function")
	case o.hasOAuth && o.oauth == nil:
		return errors.New("transport: WithOAuth was given a nil handler")
	}
	return nil
}

// A credential is what one request carries.
type credential struct {
	authorization string // the header's value; empty for none
	round         uint64 // how many renewals had ended when it was taken
}

// An authority gives the requests of a connection their credential.
type authority interface {
	// current returns what to send with a request.
	current(ctx context.Context) (credential, error)
	// renewable reports whether a response refuses a credential for which there may
	// be a better one.
	renewable(response *http.Response) bool
	// renew returns what to send instead of what was refused. It is the same where
	// there is nothing better. Request and response are for reading; the response's
	// body is its own.
	renew(ctx context.Context, refused credential, request *http.Request, response *http.Response) (credential, error)
	// name is the option's that gives the credentials, for error texts.
	name() string
	// release is called when the connection needs it no more.
	release()
}

// newAuthority returns what gives this connection's requests their credential; nil
// for nothing besides the headers.
func (r *remote) newAuthority() authority {
	switch {
	case r.options.hasBearer:
		return newBearer(r.options.bearer, r.options.patience(), r.options.bearerHung)
	case r.options.hasOAuth:
		return holdOAuth(r.options.oauth, r.options.patience())
	}
	return nil
}

func (o *httpOptions) patience() time.Duration {
	if o.tokenTimeout > 0 {
		return o.tokenTimeout
	}
	return TokenTimeout
}
