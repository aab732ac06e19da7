package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// What a server answers to a call, row by row, in one session: the workflow sees
// the reason and whether the tool ran, and the next call finds the same counter.
func TestHTTPCallFailures(t *testing.T) {
	t.Parallel()
	b, s, d := setupSite(t, nil)
	block := d.open()
	count := 0
	for _, test := range []struct {
		name   string
		fault  httpFault
		reason failure.Reason
		ran    failure.ToolRan
	}{
		{"400", answering("tools/call", 400, "text/plain", "no"), failure.ReasonRejected, failure.RanNo},
		{"401", answering("tools/call", 401, "text/plain", ""), failure.ReasonUnauthorized, failure.RanNo},
		{"403", answering("tools/call", 403, "text/html", "<h1>no</h1>"), failure.ReasonForbidden, failure.RanNo},
		{"405", answering("tools/call", 405, "text/plain", ""), failure.ReasonRejected, failure.RanNo},
		{"413", answering("tools/call", 413, "text/plain", ""), failure.ReasonRejected, failure.RanNo},
		{"429", answering("tools/call", 429, "text/plain", ""), failure.ReasonRateLimited, failure.RanNo},
		{"500", answering("tools/call", 500, "text/plain", ""), failure.ReasonServerError, failure.RanUnknown},
		{"502", answering("tools/call", 502, "text/html", ""), failure.ReasonGateway, failure.RanUnknown},
		{"503", answering("tools/call", 503, "application/json", rpcError("null", -32000, "busy")), failure.ReasonUnavailable, failure.RanNo},
		{"504", answering("tools/call", 504, "text/html", ""), failure.ReasonGateway, failure.RanUnknown},
		{"redirect", func(w http.ResponseWriter, r *http.Request, method string) bool {
			if method == "tools/call" {
				http.Redirect(w, r, "https://elsewhere.example/mcp?key=value", http.StatusTemporaryRedirect)
			}
			return method == "tools/call"
		}, failure.ReasonRedirect, failure.RanNo},
		{"cut", severed("tools/call"), failure.ReasonNoAnswer, failure.RanUnknown},
		{"cut stream", answering("tools/call", 200, "text/event-stream", ": nothing\n\n"), failure.ReasonNoAnswer, failure.RanUnknown},
		{"page", answering("tools/call", 200, "text/html", "<h1>Welcome</h1>"), failure.ReasonNoAnswer, failure.RanUnknown},
		{"accepted", answering("tools/call", 202, "", ""), failure.ReasonNoAnswer, failure.RanUnknown},
	} {
		s.put(test.fault)
		_, err := block.call(fixture.Incr, nil)
		t.Logf("%s: %v", test.name, err)
		b.wantCallFailure(err, test.reason, test.ran)
		s.put(nil)
		count++
		if got := block.must(fixture.Incr); got != fmt.Sprint(count) {
			t.Fatalf("%s: after it the counter is %s, want %d", test.name, got, count)
		}
	}
	for _, test := range []struct {
		status int
		id     string
		code   int
	}{{400, "null", jsonrpc.CodeInvalidParams}, {404, "", jsonrpc.CodeMethodNotFound}, {500, "null", jsonrpc.CodeInternalError}, {200, "", -32000}} {
		s.put(func(w http.ResponseWriter, r *http.Request, method string) bool {
			id := test.id
			if id == "" {
				id = messageID(r)
			}
			return answering("tools/call", test.status, "application/json", rpcError(id, test.code, "bad arguments"))(w, r, method)
		})
		_, err := block.call(fixture.Incr, nil)
		if d, ok := failure.MCPProtocol(err); !ok || d.Code != int64(test.code) {
			t.Errorf("%d: the error is %v", test.status, err)
		}
		s.put(nil)
		block.wantCounter(count)
	}
	// The MCP SDK takes these codes for its own, of a connection that is closing.
	for _, code := range []int{-32003, -32004, -32005} {
		s.put(func(w http.ResponseWriter, r *http.Request, method string) bool {
			return answering("tools/call", 200, "application/json", rpcError(messageID(r), code, "out of paper"))(w, r, method)
		})
		_, err := block.call(fixture.Incr, nil)
		if !failure.IsCall(err) && !failure.IsMCPProtocol(err) {
			t.Errorf("%d: the error is %v", code, err)
		}
		mentions(t, err.Error(), "out of paper")
		s.put(nil)
		block.wantCounter(count)
	}
	if err := block.close(); err != nil {
		t.Error(err)
	}
	if n := s.count("initialize"); n != 1 {
		t.Errorf("%d sessions were opened", n)
	}
}

// What a server answers when it no longer knows the session, row by row: the
// session is lost, whether the tool ran is known, and a new block has a new
// session.
func TestHTTPSessionLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault httpFault
		ran   failure.ToolRan
	}{
		"404":               {answering("tools/call", 404, "text/plain", "session not found"), failure.RanNo},
		"404 page":          {answering("tools/call", 404, "text/html", "<h1>Not Found</h1>"), failure.RanNo},
		"404 JSON-RPC":      {answering("tools/call", 404, "application/json", rpcError("null", -32001, "Session not found")), failure.RanNo},
		"404 made-up id":    {answering("tools/call", 404, "application/json", rpcError(`"server-error"`, -32600, "Session not found")), failure.RanNo},
		"400":               {answering("tools/call", 400, "text/plain", "Bad Request: No valid session ID provided"), failure.RanNo},
		"400 JSON-RPC":      {answering("tools/call", 400, "application/json", rpcError("null", -32000, "Bad Request: Server not initialized")), failure.RanNo},
		"410":               {answering("tools/call", 410, "text/plain", ""), failure.RanNo},
		"cut, then unknown": {both(severed("tools/call"), answering("ping", 404, "text/plain", "session not found")), failure.RanUnknown},
		"200, said again": {func(w http.ResponseWriter, r *http.Request, method string) bool {
			body := rpcError(messageID(r), -32001, "Session not found")
			return answering("tools/call", 200, "application/json", body)(w, r, method) ||
				answering("ping", 200, "application/json", body)(w, r, method)
		}, failure.RanNo},
		"another session": {func(w http.ResponseWriter, r *http.Request, method string) bool {
			if method == "tools/call" {
				w.Header().Set("Mcp-Session-Id", "another")
			}
			return answering("tools/call", 200, "application/json", `{"jsonrpc":"2.0","id":`+messageID(r)+`,"result":{"content":[]}}`)(w, r, method)
		}, failure.RanUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s, d := setupSite(t, nil)
			block := d.open()
			block.must(fixture.Incr)
			s.put(test.fault)
			_, err := block.call(fixture.Incr, nil)
			t.Log(err)
			b.wantLoss(err, failure.ReasonServerGone, test.ran)
			b.awaitSessionEnd(d.run)
			b.wantLoss(block.callUnscheduled(), failure.ReasonServerGone, failure.RanNo)
			b.wantConnects("here")
			s.put(nil)
			again := d.open()
			again.wantCounter(0)
			if err := again.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A slow answer is ended by CallTimeout alone, the tool is cancelled, and the
// session lives.
func TestHTTPSlowAnswer(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	s := b.site(fixture.NewHTTP(nil))
	b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(transport.HTTP(s.URL))}})
	options := b.options(longHeartbeat)
	options.CallTimeout = 2 * time.Second
	d := b.drive(options)
	block := d.open()
	block.must(fixture.Incr)
	canceled := b.file("canceled")
	_, err := block.call(fixture.Block, fixture.BlockArguments{Canceled: canceled})
	b.wantCallFailure(err, failure.ReasonCallTimeout, failure.RanUnknown)
	b.awaitLines(canceled, 1)
	block.wantCounter(1)
	if err := block.close(); err != nil {
		t.Error(err)
	}
}

// A server that does not let clients end sessions, or hangs when it is asked to,
// holds up no close.
func TestHTTPDeleteRefused(t *testing.T) {
	t.Parallel()
	b, s, d := setupSite(t, answering(http.MethodDelete, http.StatusMethodNotAllowed, "", ""))
	if err := d.open().close(); err != nil {
		t.Error(err)
	}
	s.put(func(_ http.ResponseWriter, r *http.Request, method string) bool {
		if method == http.MethodDelete {
			<-r.Context().Done()
		}
		return method == http.MethodDelete
	})
	began := time.Now()
	if err := d.open().close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > testTimeout/3 {
		t.Errorf("the close took %v", took)
	}
	b.wantConnects("here", "here")
}

// Close ends a call in flight, and the server hears of that before its session
// ends.
func TestHTTPCloseInACall(t *testing.T) {
	t.Parallel()
	b, s, d := setupSite(t, nil)
	block := d.open()
	began, canceled := b.file("began"), b.file("canceled")
	pending := block.beginCall(fixture.Block, fixture.BlockArguments{Began: began, Canceled: canceled})
	b.awaitLines(began, 1)
	if err := block.close(); err != nil {
		t.Error(err)
	}
	if err := pending.err(); !failure.IsSessionClosed(err) {
		t.Errorf("the pending call failed with %v", err)
	}
	b.awaitLines(canceled, 1)
	b.eventually("the session was deleted", func() bool { return s.count(http.MethodDelete) == 1 })
}
