package interop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// A front stands before a site as a gateway does. It hides from a client that the
// server is gone: its event stream stays open, so that the next call is the first
// to meet a server that has come back without its sessions.
type front struct {
	*site
	server *httptest.Server
	client http.Client

	mu      sync.Mutex
	session string   // the id of the last session
	answers []string // what the server said to requests other than GET: their status, and their body if they failed
}

func (s *site) front() *front {
	s.Helper()
	// No connection is used twice: one that the server closes meanwhile is a fault of
	// the front's own.
	f := &front{site: s, client: http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	f.server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "127.0.0.1:" + f.port}) },
		Transport:      f.client.Transport,
		FlushInterval:  -1,
		ModifyResponse: f.answered,
		ErrorHandler: func(_ http.ResponseWriter, request *http.Request, err error) {
			f.Logf("the front could not hand on a %s: %v", request.Method, err)
			panic(http.ErrAbortHandler)
		},
		ErrorLog: log.New(io.Discard, "", 0),
	})
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Cleanup(func() {
		f.server.CloseClientConnections()
		f.server.Close()
	})
	return f
}

func (f *front) url() string { return f.server.URL + f.path }

// answered sees an answer on its way.
func (f *front) answered(answer *http.Response) error {
	var said []byte
	if answer.StatusCode >= http.StatusBadRequest {
		said, _ = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		answer.Body = io.NopCloser(bytes.NewReader(said))
	} else if answer.Request.Method == http.MethodGet {
		answer.Body = unending{answer.Body, answer.Request.Context()}
	}
	f.note(answer.Request.Method, answer, said)
	return nil
}

// An unending body does not end with its server, but with its request.
type unending struct {
	io.ReadCloser
	ctx context.Context
}

func (u unending) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err == nil || n > 0 {
		return n, nil
	}
	<-u.ctx.Done()
	return 0, err
}

func (f *front) note(method string, answer *http.Response, said []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" {
		f.session = id
	}
	if method != http.MethodGet {
		f.answers = append(f.answers, strings.TrimSpace(fmt.Sprintf("%s %d %.300s", method, answer.StatusCode, said)))
	}
}

// last returns what the server said last to a request that was no GET.
func (f *front) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answers[len(f.answers)-1]
}

// wantSessionClosed fails the test unless the server was told that the last session
// is over, and knows nothing of it any more.
func (f *front) wantSessionClosed() {
	f.Helper()
	deleted := f.last()
	if !strings.HasPrefix(deleted, "DELETE 20") {
		f.Errorf("the last request of a session was answered %s, want a DELETE", deleted)
	}
	f.mu.Lock()
	session := f.session
	f.mu.Unlock()
	ping, err := http.NewRequestWithContext(f.ctx, http.MethodPost, f.site.url(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		f.Fatal(err)
	}
	ping.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session},
	}
	answer, err := f.client.Do(ping)
	if err != nil {
		f.Fatal(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusNotFound && answer.StatusCode != http.StatusBadRequest {
		f.Errorf("a ping of a session that is closed was answered %d %s", answer.StatusCode, said)
	}
	f.Logf("the end of a session: %s; a ping after it: %d %.200s", deleted, answer.StatusCode, said)
}
