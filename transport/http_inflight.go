package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// cancelWait bounds how long the end of a session waits for the server to take the
// notices that its calls are cancelled.
const cancelWait = time.Second

// An inFlight knows the calls that the server may still be running. Some servers
// wait for them before they end a session, and don't take the end of a connection
// for a cancel; so the end of a session cancels them by name. The MCP SDK sends
// such notices too, but beside the end, not before it.
type inFlight struct {
	mu    sync.Mutex
	calls map[jsonrpc.ID]*http.Request
}

func (f *inFlight) add(id jsonrpc.ID, request *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[jsonrpc.ID]*http.Request)
	}
	f.calls[id] = request
}

func (f *inFlight) remove(id jsonrpc.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, id)
}

// takeAll returns the calls and forgets them.
func (f *inFlight) takeAll() map[jsonrpc.ID]*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// cancelCalls tells the server that the calls in flight are cancelled.
func (r *remote) cancelCalls(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cancelWait)
	defer cancel()
	var notices sync.WaitGroup
	for id, call := range r.inFlight.takeAll() {
		params, err := json.Marshal(map[string]any{"requestId": id.Raw(), "reason": "the session is closed"})
		if err != nil {
			continue
		}
		data, err := jsonrpc.EncodeMessage(&jsonrpc.Request{Method: methodCancelled, Params: params})
		if err != nil {
			continue
		}
		notices.Go(func() {
			request, err := r.newPost(ctx, call, data)
			if err != nil {
				return
			}
			if response, _, err := r.send(ctx, context.Background(), request); err == nil {
				_ = response.Body.Close()
			}
		})
	}
	notices.Wait()
}

// newPost returns a request of our own in the session of another, one that may
// come twice.
func (r *remote) newPost(ctx context.Context, of *http.Request, data []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, of.URL.String(), bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{sessionHeader, versionHeader, "Cookie"} {
		if values := of.Header.Values(name); len(values) > 0 {
			request.Header[name] = values
		}
	}
	// Known to net/http, and not sent: it may send the request once more when a
	// connection from its pool turns out to be dead, as all in it may be.
	request.Header["Idempotency-Key"] = []string{}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	return request, nil
}
