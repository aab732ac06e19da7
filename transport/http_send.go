package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/internal/thrown"
)

// Headers of MCP over HTTP.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	lastIDHeader  = "Last-Event-Id"

	authorizationHeader = "Authorization"
)

// maxRedirects is how many redirects within the server's origin are followed.
const maxRedirects = 3

// errEnded is the cause of what is cancelled because the transport ends.
var errEnded = errors.New("transport: the connection to the server has ended")

// sendAs sends a request with the caller's headers and a credential, and follows
// redirects that keep method, body and origin. All others come back as they are: to
// follow one would hand the headers and the session's id to somebody else, or make a
// GET of a call. Sent tells after an error whether the server may have got the
// request; when that comes to be so, the call of tracked has begun.
func (r *remote) sendAs(ctx, tracked context.Context, request *http.Request, c credential) (response *http.Response, sent bool, err error) {
	out := request.Clone(ctx)
	out.URL = r.target(request.URL)
	if !sameOrigin(out.URL, r.endpoint) {
		closeBody(request)
		return nil, false, &Fault{
			Reason: failure.ReasonRedirect, ToolRan: failure.RanNo, Permanent: true,
			Message: fmt.Sprintf("the server names %s for its messages, which is not of its own origin %s; it was not used", place(out.URL), place(r.endpoint)),
		}
	}
	for name, values := range r.header {
		out.Header[name] = values
		if name == "Host" {
			out.Host = r.header.Get(name)
		}
	}
	if c.authorization != "" {
		out.Header.Set(authorizationHeader, c.authorization)
	}
	var began atomic.Bool
	note := func() { began.Store(true); SendBegins(tracked) }
	for hops := 0; ; hops++ {
		if out.Body != nil && out.Body != http.NoBody {
			out.Body = &notedBody{ReadCloser: out.Body, read: note}
		}
		response, err := r.roundTrip(out)
		if err != nil {
			// A Transport that has not read the body can't have sent it, and without
			// all of it a server runs nothing.
			return nil, began.Load() || out.Body == nil, err
		}
		next := redirect(response, out)
		if next == nil || hops == maxRedirects || !sameOrigin(next, r.endpoint) {
			return response, true, nil
		}
		discard(response)
		again := out.Clone(ctx)
		again.URL = next
		if request.GetBody != nil {
			if again.Body, err = request.GetBody(); err != nil {
				return nil, true, err
			}
		}
		out = again
	}
}

// roundTrip is that of the Transport, which may be the user's, of which a panic is an
// error: requests are sent from goroutines that are nobody's, where it would end the
// process.
func (r *remote) roundTrip(request *http.Request) (response *http.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			response, err = nil, thrown.Error("the Transport given by WithHTTPClient", p)
		}
	}()
	return r.base.RoundTrip(request)
}

// target returns where a request of the MCP SDK goes: the SDK has the endpoint
// without its query.
func (r *remote) target(asked *url.URL) *url.URL {
	if asked.String() == bare(r.endpoint) {
		return r.endpoint
	}
	return asked
}

// bare returns a URL without what may be a credential.
func bare(u *url.URL) string {
	without := *u
	without.User, without.RawQuery, without.ForceQuery = nil, "", false
	return without.String()
}

// place returns a URL's scheme and host.
func place(u *url.URL) string { return u.Scheme + "://" + u.Host }

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// redirect returns where a response says that the same request should go; nil
// when it says no such thing.
func redirect(response *http.Response, request *http.Request) *url.URL {
	if response.StatusCode != http.StatusTemporaryRedirect && response.StatusCode != http.StatusPermanentRedirect {
		return nil
	}
	location := response.Header.Get("Location")
	next, err := request.URL.Parse(location)
	if location == "" || err != nil || next.User != nil {
		return nil
	}
	return next
}

// A notedBody tells when it is read for the first time.
type notedBody struct {
	io.ReadCloser
	read func()
}

func (b *notedBody) Read(p []byte) (int, error) {
	b.read()
	return b.ReadCloser.Read(p)
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

// discard reads a bounded rest of a response, so that its connection can be used
// again, and closes it.
func discard(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, maxErrorBody)
	_ = response.Body.Close()
}
