package stateless

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A result over a payload's limit fails once, with server, tool, size, limit and
// remedy; the tool is not run again, repeatable or not in one attempt, and the next
// call works. One below the limit arrives whole. (C9)
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1_500_000, 3_000_000, 6_000_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var runs atomic.Int32
			b.worker(session.Options{Servers: []session.Server{{Name: "server", Connect: transport.InMemory(func(transport.Argument) *mcp.Server {
				s := newServer()
				s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
						if method == "tools/call" {
							runs.Add(1)
						}
						return next(ctx, method, request)
					}
				})
				return s
			})}}})
			all := do(b, stateless.Options{}, func(ctx workflow.Context, c *stateless.Client) ([]seen, error) {
				big := call(ctx, c, fixture.Big, fixture.BigArguments{Bytes: size})
				big.Text = fmt.Sprint(len(big.Text))
				return []seen{big, call(ctx, c, fixture.Get, nil)}, nil
			})
			if size < 2<<20 {
				if all[0].Text != fmt.Sprint(size) {
					t.Errorf("the call saw %+v", all[0])
				}
			} else {
				b.want(all[0], failure.TypeResultTooLarge, "", failure.RanYes)
				if s := all[0].Sizes; s.Server != "server" || s.Tool != fixture.Big || s.Size < int64(size) || s.Limit != 2<<20 {
					t.Errorf("the sizes are %+v", s)
				}
			}
			if all[1].Text != "0" || runs.Load() != 2 {
				t.Errorf("the call after it saw %+v; there were %d calls in all, want 2", all[1], runs.Load())
			}
		})
	}
}

// No digit of an argument is lost on the way, and no field of a result. (C15, C20)
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	whole := func() *mcp.CallToolResult {
		return &mcp.CallToolResult{
			Meta: mcp.Meta{"of": "the result"}, StructuredContent: map[string]any{"a": "b"},
			Content: []mcp.Content{
				&mcp.TextContent{Text: "text", Annotations: &mcp.Annotations{Priority: 0.5}},
				&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1, 2, 3}, Meta: mcp.Meta{"of": "the image"}},
				&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte{4}},
				&mcp.ResourceLink{URI: "note://one", Name: "note"},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "note://one", Text: "text"}},
				&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "note://two", Blob: []byte{5, 6}}},
			},
		}
	}
	b.worker(session.Options{Servers: []session.Server{{Name: "server", Connect: transport.InMemory(func(transport.Argument) *mcp.Server {
		s := newServer()
		s.AddTool(&mcp.Tool{Name: "whole", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return whole(), nil })
		return s
	})}}})
	const digits = `{"a":9007199254740993,"b":1234567890123456789,"c":1e400}`
	if s := do(b, stateless.Options{}, once(fixture.Echo, json.RawMessage(digits))); s.Text != digits {
		t.Errorf("the tool saw %s", s.Text)
	}
	got := do(b, stateless.Options{}, func(ctx workflow.Context, c *stateless.Client) (*mcp.CallToolResult, error) {
		return c.CallTool(ctx, "whole", nil)
	})
	delete(got.Meta, "io.modelcontextprotocol/serverInfo") // which the MCP SDK adds
	if got, want := asJSON(t, got), asJSON(t, whole()); got != want {
		t.Errorf("the result is\n%s\nwant\n%s", got, want)
	}
}

func asJSON(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	raw, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var generic map[string]any
	if err := json.Unmarshal(raw, &generic); err != nil {
		t.Fatal(err)
	}
	delete(generic, "resultType")
	if raw, err = json.MarshalIndent(generic, "", " "); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func headersOf(token *atomic.Value) func(context.Context) (http.Header, error) {
	return func(context.Context) (http.Header, error) {
		return http.Header{"X-Token": {token.Load().(string)}}, nil
	}
}

// A token of the connector's is nowhere in history, though the server repeats it in
// every way of failing that it has. (C11)
func TestSecrets(t *testing.T) {
	t.Parallel()
	const canary = "canary-that-nobody-may-see"
	b := setup(t)
	var token atomic.Value
	token.Store(canary)
	inner := mcp.NewStreamableHTTPHandler(func(request *http.Request) *mcp.Server {
		s := newServer()
		s.AddTool(&mcp.Tool{Name: "repeat", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, &jsonrpc.Error{Code: -32602, Message: "you sent " + request.Header.Get("X-Token")}
			})
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true})
	var status atomic.Int32
	url := b.Serve(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if code := status.Load(); code != 0 {
			http.Error(w, "you sent "+request.Header.Get("X-Token"), int(code))
			return
		}
		inner.ServeHTTP(w, request)
	}))
	b.worker(session.Options{Servers: []session.Server{{Name: "server", Connect: transport.HTTP(url, transport.WithHeaders(headersOf(&token)))}}})
	options := stateless.Options{Operation: workflow.ActivityOptions{RetryPolicy: fast}}
	var told strings.Builder
	for _, code := range []int32{0, http.StatusForbidden, http.StatusInternalServerError, http.StatusBadRequest} {
		status.Store(code)
		run := begin(b, options, once("repeat", nil))
		s := run.Result()
		if s.Type == "" {
			t.Errorf("with HTTP status %d the call saw %+v", code, s)
		}
		fmt.Fprintf(&told, "%+v\n%s\n", s, b.HistoryText(run))
	}
	if !strings.Contains(told.String(), "you sent") {
		t.Errorf("the server's words are not told at all: %s", &told)
	}
	if before, after, ok := strings.Cut(told.String(), canary); ok {
		t.Errorf("the token is told: …%s[here]%s…", before[max(0, len(before)-200):], after[:min(200, len(after))])
	}
}
