//go:build unix

package transport_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
	"github.com/mcpsession/mcpsession/transport/transporttest"
)

// stateful is the version of MCP over HTTP that has sessions.
var stateful = &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}

func TestHTTPConforms(t *testing.T) {
	for _, test := range []struct {
		name    string
		options mcp.StreamableHTTPOptions
	}{
		{"streams", mcp.StreamableHTTPOptions{}},
		{"JSON", mcp.StreamableHTTPOptions{JSONResponse: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T) transporttest.Subject {
				return httpSubject(t, func(getServer func(*http.Request) *mcp.Server) http.Handler {
					return mcp.NewStreamableHTTPHandler(getServer, &test.options)
				})
			})
		})
	}
}

func TestSSEConforms(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Subject {
		return httpSubject(t, func(getServer func(*http.Request) *mcp.Server) http.Handler {
			return mcp.NewSSEHandler(getServer, nil)
		}, transport.WithSSE())
	})
}

// httpSubject is a server over HTTP that is lost as by a crash: nobody listens any
// more, and what was connected breaks.
func httpSubject(t *testing.T, handle func(func(*http.Request) *mcp.Server) http.Handler, options ...transport.Option) transporttest.Subject {
	var mu sync.Mutex
	var servers []*mcp.Server
	lost, lose := context.WithCancelCause(context.Background())
	server := httptest.NewServer(handle(func(*http.Request) *mcp.Server {
		mu.Lock()
		defer mu.Unlock()
		made := transporttest.NewServer()
		servers = append(servers, made)
		made.AddReceivingMiddleware(cancelledBy(lost))
		return made
	}))
	crash := sync.OnceFunc(func() {
		lose(errors.New("the server is lost"))
		_ = server.Listener.Close()
		server.CloseClientConnections()
	})
	t.Cleanup(func() {
		crash()
		server.Close()
		// A crash would have ended the sessions, too.
		for _, made := range servers {
			for session := range made.Sessions() {
				_ = session.Close()
			}
		}
	})
	return transporttest.Subject{
		Connector: transport.HTTP(server.URL, options...),
		Session:   stateful,
		Lose:      func(*testing.T, *mcp.ClientSession) { crash() },
		Opened: func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(servers)
		},
	}
}
