//go:build unix

package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/transport"
)

// A server that repeats all it was sent in its errors: no text of this package, and
// no JSON-RPC error that passes it, has a header's value, the URL's query or the
// session's id (C11).
func TestHTTPTellsNoSecrets(t *testing.T) {
	t.Parallel()
	const key, token = "key-that-nobody+may see", "token-that-nobody-may-see"
	for name, answer := range map[string]func(echo string) (status int, contentType, body string){
		"text":     func(echo string) (int, string, string) { return 503, "text/plain", echo },
		"JSON-RPC": func(echo string) (int, string, string) { return 200, "application/json", rpcBody("2", echo) },
		"JSON-RPC in a stream": func(echo string) (int, string, string) {
			return 200, "text/event-stream", "data: " + rpcBody("2", echo) + "\n\n"
		},
		"lost":      func(echo string) (int, string, string) { return 404, "text/plain", echo },
		"lost, RPC": func(echo string) (int, string, string) { return 404, "application/json", rpcBody("null", echo) },
	} {
		s := newSite(t, nil)
		server := watched(t, transport.HTTP(s.URL+"/?key=key-that-nobody%2Bmay%20see", transport.WithHeaders(
			func(context.Context) (http.Header, error) {
				return http.Header{"Authorization": {"Bearer " + token}, "X-Key": {"other-secret"}}, nil
			})))
		session, err := connectStateful(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
			if request.URL.Query().Get("key") != key && request.Method == http.MethodPost {
				t.Errorf("the key came as %q", request.URL)
			}
			if method != "tools/call" {
				return false
			}
			status, contentType, body := answer(fmt.Sprintf("Session %s not found, %s, %s at %s, key %s", request.Header.Get("Mcp-Session-Id"),
				request.Header.Get("Authorization"), request.Header.Get("X-Key"), request.URL, key))
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return true
		})
		fault, err := faultOf(t, session, "incr")
		texts := []string{err.Error()}
		if fault != nil {
			texts = append(texts, fault.Message, fault.Peer)
		}
		if strings.HasPrefix(name, "lost") {
			texts = append(texts, awaitGone(t, server))
		}
		all := strings.Join(texts, "\n")
		for _, secret := range []string{key, "key-that-nobody", token, "other-secret", s.sessionID()} {
			if strings.Contains(all, secret) {
				t.Errorf("%s: %q is told:\n%s", name, secret, all)
			}
		}
		if !strings.Contains(all, "[redacted]") {
			t.Errorf("%s: nothing is redacted:\n%s", name, all)
		}
	}
}

func rpcBody(id, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q,"data":{"said":%[2]q}}}`, id, message)
}
