//go:build unix

package transport_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// A server may refuse the first request, which asks for a version that it does not
// speak, and name a session in the refusal nevertheless, as version 1 of the Python
// SDK does. That session does not exist: initialize opens another one.
func TestHTTPSessionOfARefusal(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.put(func(w http.ResponseWriter, _ *http.Request, method string) bool {
		if method != "server/discover" {
			return false
		}
		w.Header().Set("Mcp-Session-Id", "refused")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}`)
		return true
	})
	server := watched(t, transport.HTTP(s.URL))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), server, &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"})
	if err != nil {
		t.Fatal(err)
	}
	if s.count("POST server/discover") != 1 || session.ID() == "" || session.ID() == "refused" {
		t.Errorf("after %d refusals the session is %q", s.count("POST server/discover"), session.ID())
	}
	counts(t, session, 1)
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
