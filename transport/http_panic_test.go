//go:build unix

package transport_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/transport"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// A Transport that panics costs the request, in whichever goroutine that is sent: the
// process lives on, and nobody is told what it panicked with.
func TestHTTPTransportPanics(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]string{
		"in the stream of the server's own messages": http.MethodGet,
		"in a call, and in the ping that follows":    http.MethodPost,
		"at the end": http.MethodDelete,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			own := &http.Transport{}
			t.Cleanup(own.CloseIdleConnections)
			var armed, panicked atomic.Bool
			armed.Store(method == http.MethodGet)
			client := &http.Client{Transport: roundTripFunc(func(request *http.Request) (*http.Response, error) {
				if request.Method == method && armed.Load() {
					panicked.Store(true)
					panic("planted-secret")
				}
				return own.RoundTrip(request)
			})}
			session, server := openHTTP(t, s, transport.WithHTTPClient(client))
			if method == http.MethodPost {
				armed.Store(true)
				fault, err := faultOf(t, session, "incr")
				wantFault(t, fault, failure.ReasonServerGone, failure.RanNo)
				if text := err.Error() + fault.Error() + fault.Peer; strings.Contains(text, "planted-secret") || !strings.Contains(text, "panicked with a string") {
					t.Error(text)
				}
				receive(t, "the end of the session", server.Gone())
				return
			}
			counts(t, session, 1)
			armed.Store(true)
			if err := server.Close(); (err != nil) != (method == http.MethodDelete) || err != nil && strings.Contains(err.Error(), "planted-secret") {
				t.Errorf("Close: %v", err)
			}
			if !panicked.Load() {
				t.Error("it has not panicked")
			}
		})
	}
}
