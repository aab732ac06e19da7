package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTP returns a [Connector] for an MCP server at a URL that speaks streamable
// HTTP. Each session is a session of the server's own, which it names by an
// Mcp-Session-Id; see the package comment for what ends it, what does not, and
// which servers keep state at all.
//
// The URL is the server's MCP endpoint. A query of it, such as one with a key, is
// sent and never told; a user name or a password in it is refused, since both end
// up in proxies' logs: give them by [WithHeaders]. A connector that chooses the
// URL by the workflow's argument calls HTTP itself:
//
//	func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
//		url, err := urlOf(arg)
//		if err != nil {
//			return nil, err
//		}
//		return transport.HTTP(url)(ctx, arg)
//	}
//
// The connector fails with a [PermanentError] of reason "bad-option" where the URL
// or an option can't be used. What the server answers is judged when it connects.
func HTTP(url string, options ...Option) Connector {
	var o httpOptions
	for _, option := range options {
		option(&o)
	}
	return func(ctx context.Context, _ Argument) (mcp.Transport, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		endpoint, err := parseEndpoint(url)
		if err != nil {
			return nil, Permanent("bad-option", err)
		}
		if err := o.checkAuth(); err != nil {
			return nil, Permanent("bad-option", err)
		}
		return &remote{life: newLife(), endpoint: endpoint, options: o}, nil
	}
}

// An Option changes what [HTTP] does.
type Option func(*httpOptions)

type httpOptions struct {
	headers func(context.Context) (http.Header, error)
	client  *http.Client
	legacy  bool
	secrets []string

	bearer     func(context.Context) (string, error)
	bearerHung *atomic.Int32 // its calls that take longer than anybody waits, for all connections
	hasBearer  bool
	oauth      auth.OAuthHandler
	hasOAuth   bool

	tokenTimeout time.Duration // for tests; zero is TokenTimeout
}

// WithHeaders adds headers to every request of a session, such as an
// Authorization. The function is called once for each connection, when it is
// made, so a secret that was rotated is used from the next session on. Its error
// fails that attempt to open, and is retried unless [Permanent] marks it.
//
// A header that the transport sets itself, such as Mcp-Session-Id, is refused. The
// values count as secrets: they are cut out of what the server says in errors
// before that is told. A token that expires within a session is one for [WithBearer] or
// [WithOAuth], with which an Authorization here is refused.
func WithHeaders(headers func(ctx context.Context) (http.Header, error)) Option {
	return func(o *httpOptions) { o.headers = headers }
}

// WithHTTPClient makes sessions use the Transport and the Jar of client, which is
// not changed: for a proxy, or for client certificates. The Transport gets redirects as
// they are, and should not send a request again by itself.
//
// Its Timeout and CheckRedirect are not used: the time of a call is bounded by its
// CallTimeout, and streams are open as long as the session. Its idle connections
// are its own and stay open. The default is a Transport for each session with
// [http.DefaultTransport]'s settings.
func WithHTTPClient(client *http.Client) Option {
	return func(o *httpOptions) { o.client = client }
}

// WithSSE makes HTTP speak the transport that was replaced by streamable HTTP in
// 2025, for old servers: the URL is that of its event stream. The stream is the
// session: when it ends the session is lost. The place that the server names for
// messages must have the origin of the URL.
func WithSSE() Option {
	return func(o *httpOptions) { o.legacy = true }
}

// parseEndpoint returns the URL, or what is wrong with it without telling it: it
// may hold what nobody may see.
func parseEndpoint(text string) (*url.URL, error) {
	endpoint, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("transport: HTTP was given a URL that can't be parsed; give it one such as https://host/mcp")
	case endpoint.User != nil:
		return nil, fmt.Errorf("transport: the URL of HTTP for host %q holds a user name or a password; give them by WithHeaders, as an Authorization",
			endpoint.Host)
	case endpoint.Scheme != "http" && endpoint.Scheme != "https":
		return nil, fmt.Errorf("transport: the URL of HTTP has the scheme %q; give it one such as https://host/mcp", endpoint.Scheme)
	case strings.Contains(endpoint.RawQuery, " "):
		return nil, errors.New("transport: the URL of HTTP has a space in its query, which servers refuse; write %20")
	case endpoint.Hostname() == "":
		return nil, errors.New("transport: the URL of HTTP names no host; give it one such as https://host/mcp")
	}
	endpoint.Fragment, endpoint.RawFragment = "", ""
	return endpoint, nil
}

// idleConnections is how long a connection of a session's own Transport is kept
// for its next request. It is below the 5 s after which many servers close theirs:
// a request that meets the close may or may not have arrived, and is not sent
// again.
const idleConnections = 4 * time.Second

// newHTTPTransport returns a Transport for one session.
func newHTTPTransport() *http.Transport {
	own := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		own = standard.Clone()
	}
	own.IdleConnTimeout = idleConnections
	own.MaxIdleConnsPerHost = 8
	return own
}
