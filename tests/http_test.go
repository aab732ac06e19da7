package tests

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// A block over HTTP has the same state from call to call, which another block does
// not see, asks for the version that has sessions, and ends its session with one
// DELETE.
func TestHTTPBlock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		serve   *fixture.HTTP
		options []transport.Option
		hasID   bool
		deletes int
	}{
		"streams": {fixture.NewHTTP(nil), nil, true, 2},
		"JSON":    {fixture.NewHTTP(&mcp.StreamableHTTPOptions{JSONResponse: true}), nil, true, 2},
		"SSE":     {fixture.NewSSE(), []transport.Option{transport.WithSSE()}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			s := b.site(test.serve)
			type seen struct {
				Counts []string
				Infos  []toolset.Info
			}
			b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
				options := toolset.Options{Server: "counter"}
				return got, toolset.With(ctx, options, func(ctx workflow.Context, outer *toolset.Toolset) error {
					return toolset.With(ctx, options, func(ctx workflow.Context, inner *toolset.Toolset) error {
						for _, ts := range []*toolset.Toolset{outer, outer, inner, outer} {
							text, err := call(ctx, ts, fixture.Incr, nil)
							if err != nil {
								return err
							}
							got.Counts = append(got.Counts, text)
						}
						got.Infos = []toolset.Info{outer.Info(), inner.Info()}
						return nil
					})
				})
			}, b.counted(transport.HTTP(s.URL, test.options...)))
			var got seen
			if err := b.start().Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got.Counts) != "[1 2 1 3]" {
				t.Errorf("the counters were %v", got.Counts)
			}
			for _, info := range got.Infos {
				if info.HasSessionID != test.hasID || info.Initialize.ProtocolVersion != session.DefaultProtocolVersion ||
					info.Initialize.ServerInfo.Name != "fixture" {
					t.Errorf("has a session id: %v; %+v", info.HasSessionID, info.Initialize)
				}
			}
			if s.count("initialize") != 2 || s.count(http.MethodDelete) != test.deletes {
				t.Errorf("there were %q", s.seen)
			}
		})
	}
}

// A server that keeps no state between calls is refused, in one attempt, by
// whatever version it says so; unless its tools are said to need none.
func TestHTTPSessionless(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		serve   func() *fixture.HTTP
		version string
		connect func(url string) transport.Connector
		opens   bool
	}{
		"stateless, version with sessions":    {stateless, "", overHTTP, false},
		"stateless, version without sessions": {stateless, "2026-07-28", overHTTP, false},
		"stateless, the MCP SDK's transport":  {stateless, "", overSDK, false},
		"stateful, version without sessions":  {func() *fixture.HTTP { return fixture.NewHTTP(nil) }, "2026-07-28", overHTTP, true},
		"stateful, the MCP SDK's transport":   {func() *fixture.HTTP { return fixture.NewHTTP(nil) }, "", overSDK, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			s := b.site(test.serve())
			server := b.counted(test.connect(s.URL))
			server.ProtocolVersion = test.version
			if test.opens {
				info, _, _ := b.opened(worker.Options{}, server)
				if !info.HasSessionID || info.Initialize.ProtocolVersion != session.DefaultProtocolVersion {
					t.Errorf("has a session id: %v; %+v", info.HasSessionID, info.Initialize)
				}
				return
			}
			f, _ := b.failToOpen(toolset.Options{Server: "counter", Session: attempts(3)}, server)
			checkOpenFailure(t, f, "counter", failure.ReasonSessionless, "AllowSessionless")
			b.wantConnects("here")
		})
	}
	t.Run("allowed", func(t *testing.T) {
		t.Parallel()
		b := setupFaults(t)
		s := b.site(stateless())
		server := b.counted(transport.HTTP(s.URL))
		server.AllowSessionless = true
		info, _, _ := b.opened(worker.Options{}, server)
		if info.HasSessionID {
			t.Error("a stateless server has given a session id")
		}
	})
}

func overHTTP(url string) transport.Connector { return transport.HTTP(url) }

// overSDK is a connector of a user's own.
func overSDK(url string) transport.Connector {
	return connecting(func(context.Context) (mcp.Transport, error) {
		return &mcp.StreamableClientTransport{Endpoint: url}, nil
	})("").Connect
}

// What a server answers to the handshake: a reason that the workflow sees, in as
// many attempts as can help.
func TestHTTPHandshakeFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int // 0: nobody listens
		body   string
		reason failure.Reason
		tries  int
	}{
		{401, "", failure.ReasonUnauthorized, 1},
		{403, "", failure.ReasonForbidden, 1},
		{404, "", failure.ReasonNotFound, 1},
		{405, "", failure.ReasonRejected, 1},
		{302, "", failure.ReasonRedirect, 1},
		{400, rpcError("null", -32600, "you are no client of mine"), failure.ReasonConnect, 1},
		{429, "", failure.ReasonRateLimited, 3},
		{500, "", failure.ReasonServerError, 3},
		{502, "", failure.ReasonGateway, 3},
		{503, "", failure.ReasonUnavailable, 3},
		{200, "<h1>Welcome</h1>", failure.ReasonNoAnswer, 3},
		{0, "", failure.ReasonUnreachable, 3},
	} {
		t.Run(fmt.Sprint(test.status, test.reason), func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			s := b.site(fixture.NewHTTP(nil))
			s.put(answering("initialize", test.status, "text/plain", test.body))
			if test.status == 0 {
				s.crash()
			}
			f, _ := b.failToOpen(toolset.Options{Server: "counter", Session: attempts(3)}, b.counted(transport.HTTP(s.URL)))
			checkOpenFailure(t, f, "counter", test.reason)
			if n := len(b.connects()); n != test.tries {
				t.Errorf("there were %d attempts, want %d", n, test.tries)
			}
		})
	}
}

// A URL or option that can't be used fails the first attempt for good.
func TestHTTPBadOption(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	f, _ := b.failToOpen(toolset.Options{Server: "counter", Session: attempts(3)}, b.counted(transport.HTTP("localhost:8080/mcp")))
	checkOpenFailure(t, f, "counter", "bad-option", "https://")
	b.wantConnects("here")
}
