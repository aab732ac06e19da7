package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deleteTimeout bounds the DELETE by which a session is ended.
const deleteTimeout = 3 * time.Second

// A remote is the transport of one session over HTTP. Its connection is the MCP
// SDK's own, which must get to the client as it is: the SDK's client looks for
// methods of it that only the SDK can name. So what this package adds to it
// happens below it, in [roundTripper], which sees every request with its context.
//
// The end has two ways. When this side begins it, finish closes the SDK's
// connection. When the SDK's client closes that itself, its DELETE is the first
// that this package hears of it, and the end of the DELETE is the end. Where there
// is no session there is no DELETE, and only Close tells of the end.
type remote struct {
	*life
	endpoint *url.URL
	options  httpOptions

	header http.Header // of WithHeaders, for this connection
	base   http.RoundTripper
	own    *http.Transport // base, unless the caller has given one
	secrets
	authority authority // nil if there is none besides the headers
	inner     mcp.Connection
	inFlight  inFlight

	// ctx ends what the session has under way, besides its DELETE.
	ctx    context.Context
	cancel context.CancelCauseFunc

	finishing, concluding, releasing sync.Once
}

// Connect implements [mcp.Transport]. Over streamable HTTP nothing is sent yet.
func (r *remote) Connect(ctx context.Context) (mcp.Connection, error) {
	return r.life.connect(ctx, r.start)
}

func (r *remote) start(ctx context.Context) (_ mcp.Connection, err error) {
	r.learn(r.options.secretsNamed()...)
	r.learn(secretsOfQuery(r.endpoint)...)
	if r.header, err = r.makeHeader(ctx); err != nil {
		return nil, err
	}
	r.learn(secretsOfHeader(r.header)...)
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	if r.authority = r.newAuthority(); r.authority != nil {
		defer func() {
			if err != nil {
				r.cancel(errEnded)
				r.releaseAuthority()
			}
		}()
		if c, err := r.authority.current(ctx); err != nil {
			return nil, r.uncredited(ctx, c, err)
		}
	}
	client := &http.Client{Transport: roundTripper{r}}
	if given := r.options.client; given != nil {
		client.Jar, r.base = given.Jar, given.Transport
		if r.base == nil {
			r.base = http.DefaultTransport
		}
	} else {
		r.own = newHTTPTransport()
		r.base = r.own
	}
	if r.options.legacy {
		connection, err := r.startLegacy(ctx, client)
		if err != nil {
			r.cancel(errEnded)
			r.closeIdle()
		}
		return connection, err
	}
	r.inner, err = (&mcp.StreamableClientTransport{
		Endpoint:     bare(r.endpoint), // which is in the SDK's errors
		HTTPClient:   client,
		MaxEventSize: -1, // eventReader has the limit
	}).Connect(ctx)
	return r.inner, err
}

// lose begins the end for a reason of the server's.
func (r *remote) lose(why error) {
	r.life.lose(why)
	go r.finish()
}

// Close implements [Watched].
func (r *remote) Close() error {
	if r.ask() {
		r.finish()
	}
	return r.life.Close()
}

// finish ends everything, once the end has begun.
func (r *remote) finish() {
	r.finishing.Do(func() {
		r.cancel(errEnded)
		_ = r.inner.Close() // calls delete if there is a session
		r.conclude()
	})
}

// conclude says that the server is gone, as far as this side is concerned.
func (r *remote) conclude() {
	r.concluding.Do(func() {
		r.cancel(errEnded)
		r.closeIdle()
		r.releaseAuthority()
		if !r.asked {
			r.cause = errors.New("the server closed the connection")
			if r.fault != nil {
				r.cause = r.fault
			}
		}
		close(r.gone)
	})
}

// releaseAuthority gives up what gives the credentials, if anything does.
func (r *remote) releaseAuthority() {
	if r.authority != nil {
		r.releasing.Do(r.authority.release)
	}
}

// closeIdle closes the connections of this session, if they are its own.
func (r *remote) closeIdle() {
	if r.own != nil {
		r.own.CloseIdleConnections()
	}
}

// delete ends the session on the server, unless the server is known not to have
// it any more, and in bounded time.
func (r *remote) delete(request *http.Request) *http.Response {
	r.ask()
	r.cancel(errEnded) // the calls in flight
	if r.asked {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(request.Context()), deleteTimeout)
		defer cancel()
		r.cancelCalls(ctx)
		response, _, err := r.send(ctx, context.Background(), request)
		if err != nil {
			r.closeErr = fmt.Errorf("transport: the server did not end the session: %s", r.told(err.Error()))
		} else {
			discard(response)
			// A server need not let clients end sessions, and may have ended this one.
			switch status := response.StatusCode; {
			case status < 300, status == http.StatusNotFound, status == http.StatusGone, status == http.StatusBadRequest,
				status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
			default:
				r.closeErr = fmt.Errorf("transport: the server did not end the session: it answered HTTP %d %s", status, http.StatusText(status))
			}
		}
	}
	r.conclude()
	return newResponse(request, http.StatusNoContent, http.Header{}, http.NoBody)
}
