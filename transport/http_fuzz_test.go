//go:build unix

package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpsession/mcpsession/transport"
)

// A rawSite answers each request with bytes that a fuzzer has chosen, and then
// closes the connection: the next turn of posts to each POST, stream to each GET.
// When the turns are used up it is as a server that has lost the session.
type rawSite struct {
	mu     sync.Mutex
	posts  [][]byte
	stream []byte
	hangs  bool // instead of closing a connection, until the end
}

// dial connects to the site, without a network.
func (s *rawSite) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	theirs, ours := net.Pipe()
	go s.serve(ours)
	return theirs, nil
}

func (s *rawSite) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	input := bufio.NewReader(conn)
	request, err := http.ReadRequest(input)
	if err != nil {
		return
	}
	body, _ := io.ReadAll(request.Body)
	answer := s.answer(request.Method)
	// What comes at the end is sent under a lock of the SDK's, and a bubble's time
	// stands still while somebody waits for a lock.
	last := request.Method == http.MethodDelete || bytes.Contains(body, []byte("notifications/cancelled"))
	if _, err := conn.Write(answer); err == nil && s.hangs && !last {
		_, _ = io.Copy(io.Discard, input) // until the other side closes
	}
}

func (s *rawSite) answer(method string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case method == http.MethodGet:
		return s.stream
	case method == http.MethodPost && len(s.posts) > 0:
		answer := s.posts[0]
		s.posts = s.posts[1:]
		return answer
	}
	return []byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
}

// Whatever bytes come where an HTTP answer should be — status, headers, body, the
// pieces of an event stream — and wherever they stop, the client's way from the
// handshake to Close neither panics nor hangs, and leaves nothing behind. Time is
// the bubble's own, so every wait is over at once, one for ever is told as a
// deadlock, and so is a goroutine that is left.
func FuzzHTTPAnswers(f *testing.F) {
	for _, seed := range httpScripts {
		for _, stream := range httpStreams {
			f.Add([]byte(strings.Join(seed, turnEnd)), []byte(stream), false)
		}
		for _, stream := range []string{httpStreams[0], reply("404 Not Found", "", ""), "HTTP/1.1 200 OK\r\n"} {
			f.Add([]byte(strings.Join(seed, turnEnd)), []byte(stream), true)
		}
	}
	f.Fuzz(func(t *testing.T, posts, stream []byte, hangs bool) {
		if len(posts) > 1<<16 || len(stream) > 1<<16 {
			t.Skip("takes long and shows no more")
		}
		synctest.Test(t, func(t *testing.T) {
			site := &rawSite{posts: bytes.Split(posts, []byte(turnEnd)), stream: stream, hangs: hangs}
			site.play(t)
		})
	})
}

// play opens a session on the site and does with it what a session does.
func (s *rawSite) play(t *testing.T) {
	pool := &http.Transport{DialContext: s.dial}
	defer pool.CloseIdleConnections()
	made, err := transport.HTTP("http://server.test/mcp?key=the-secret", transport.WithHTTPClient(&http.Client{Transport: pool}))(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	server := made.(transport.Watched)
	defer func() {
		_ = server.Close()
		if cause := server.Cause(); cause != nil {
			if text := cause.Error(); len(text) > 2000 || strings.Contains(text, "the-secret") {
				t.Errorf("the cause is %.3000s", text)
			}
		}
		synctest.Wait()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ctx, send := transport.TrackSend(ctx)
	// As a session does with a handshake that has no end.
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		select {
		case <-time.After(time.Second):
			_ = server.Close()
		case <-over:
		}
	}()
	session, err := connectStateful(ctx, server)
	if fault := send.Fault(); fault != nil && len(fault.Message)+len(fault.Peer) > 2000 {
		t.Errorf("the fault is %.3000s", fmt.Sprint(fault))
	}
	if err != nil {
		return
	}
	useAll(t, ctx, session)
	// As a session closes: the SDK has a moment, and then its transport ends it.
	closed := make(chan error, 1)
	go func() { closed <- session.Close() }()
	select {
	case <-closed:
	case <-time.After(time.Second):
	}
	_ = server.Close()
	<-server.Gone()
}

// reply is an HTTP answer.
func reply(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sConnection: close\r\n\r\n%s", status, strings.ReplaceAll(headers, "\n", "\r\n"), body)
}

// asJSON and asEvents are an answer with a message, in the two ways.
func asJSON(message string) string {
	return reply("200 OK", "Content-Type: application/json\nMcp-Session-Id: the-id-1234\n", message)
}

func asEvents(messages ...string) string {
	var body strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&body, "data: %s\n\n", strings.TrimSpace(m))
	}
	return reply("200 OK", "Content-Type: text/event-stream\nMcp-Session-Id: the-id-1234\n", body.String())
}

var accepted = reply("202 Accepted", "", "")

// httpStreams are what comes to the request for the standalone stream.
var httpStreams = []string{
	reply("405 Method Not Allowed", "", ""),
	asEvents(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, "no message", `{"jsonrpc":"2.0","id":1,"method":"ping"}`),
	reply("200 OK", "Content-Type: text/event-stream\n", "retry: 1\nid: 7\nevent: message\ndata: {\ndata: }\n\n: a comment\n\ndata"),
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n",
}

// httpScripts are answers to the messages in their order: initialize, the notice
// after it, then what useAll asks.
var httpScripts = [][]string{
	{asJSON(helloed), accepted, asJSON(listed), asJSON(called)},
	{asEvents(helloed), accepted, asEvents(listed), asEvents(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`, called)},
	{asJSON(helloed), reply("404 Not Found", "", "")},
	{asJSON(helloed), accepted, reply("400 Bad Request", "", "No valid session ID provided")},
	{asJSON(helloed), accepted, reply("404 Not Found", "Content-Type: application/json\n", `{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"Session not found"}}`)},
	{asJSON(helloed), accepted, reply("410 Gone", "", "")},
	{asJSON(helloed), accepted, reply("503 Service Unavailable", "Retry-After: 1\n", "busy"), asJSON(called)},
	{asJSON(helloed), accepted, reply("502 Bad Gateway", "Content-Type: text/html\n", "<html>"), asJSON(called)},
	{asJSON(helloed), accepted, reply("500 Oops", "Content-Type: application/json\n", `{"jsonrpc":"2.0","id":2,"error":{"message":"no code"}}`), asJSON(called)},
	{asJSON(helloed), accepted, reply("307 Temporary Redirect", "Location: /mcp\n", ""), asJSON(listed), asJSON(called)},
	{asJSON(helloed), accepted, reply("308 Permanent Redirect", "Location: http://else.where/\n", "")},
	{asJSON(helloed), accepted, reply("302 Found", "Location: ::\n", "")},
	{asJSON(helloed), accepted, strings.Replace(asJSON(listed), "1234", "5678", 1)},
	{asJSON(helloed), accepted, asJSON(`{"jsonrpc":"2.0","id":22,"result":{}}`), asJSON("[" + strings.TrimSpace(called) + "]")},
	{asJSON(helloed), accepted, asJSON(`{"jsonrpc":"2.0","id":2}`), asJSON(`{"jsonrpc":"2.0","id":3,"result":null}`)},
	{asJSON(helloed), accepted, asJSON(`{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1}}`), asJSON(`{"jsonrpc":"2.0","id":3,"result":5}`)},
	{asJSON(helloed), accepted, reply("200 OK", "Content-Type: application/json\nContent-Length: 500\n", listed), asJSON(called)},
	{asJSON(helloed), accepted, reply("200 OK", "Content-Type: text/event-stream\n", "id: 9\nretry: 1\ndata: {\"jsonr"), asEvents(called)},
	{asJSON(helloed), accepted, reply("200 OK", "Content-Type: text/event-stream\n", "id: 9\nretry: 1\ndata:\n\n"), asEvents(called)},
	{asJSON(helloed), accepted, reply("204 No Content", "", ""), reply("200 OK", "Content-Type: text/html\n", "<html>")},
	{asJSON(helloed), accepted, reply("200 OK", "Content-Type: application/json\nTransfer-Encoding: chunked\n", "5\r\n{\"jso\r\nzz\r\n")},
	{asJSON(helloed), reply("202 Accepted", "", "{}"), reply("100 Continue", "", ""), "HTTP/1.1 200"},
	{strings.Replace(asJSON(helloed), "Mcp-Session-Id: the-id-1234\r\n", "", 1), accepted, asJSON(listed)},
	{asJSON(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`)},
	{asEvents(`{"jsonrpc":"2.0","id":"x","method":"ping"}`, helloed), accepted, accepted, asEvents(listed)},
	{reply("401 Unauthorized", "WWW-Authenticate: Bearer\n", "the-secret")},
	{reply("200 OK", "Content-Type: text/event-stream\n", ": waiting\n\n")},
	{""},
	{"garbage\r\n\r\n"},
}
