package stateless

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// The tools that the servers of these tests have besides those of the fixture. Each
// adds a line to a file; Exit drops the connection before an answer, and Sleep waits.
const (
	effect           = "effect"            // says nothing of itself
	effectReadOnly   = "effect-readonly"   // is annotated as read-only
	effectIdempotent = "effect-idempotent" // is annotated as idempotent
)

// newServer returns the fixture with the tools above, a prompt, a resource, a
// template and completions.
func newServer() *mcp.Server {
	s := fixture.New()
	for name, annotations := range map[string]*mcp.ToolAnnotations{
		effect: nil, effectReadOnly: {ReadOnlyHint: true}, effectIdempotent: {IdempotentHint: true},
	} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: annotations},
			func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var a fixture.AppendArguments
				if err := json.Unmarshal(request.Params.Arguments, &a); err != nil {
					return nil, err
				}
				if err := fixture.AppendLine(a.File, a.Line); err != nil {
					return nil, err
				}
				if a.Exit {
					os.Exit(7)
				}
				select {
				case <-ctx.Done():
				case <-time.After(a.Sleep):
				}
				return textResult(a.Line), nil
			})
	}
	fixture.AddLibrary(s)
	return s
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func serveStdio() {
	if err := newServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

// overStdio is newServer in a process of the owner's.
func overStdio(owner string) transport.Connector { return fixture.Stdio(roleMCP, owner) }

// overHTTP is newServer over HTTP, with or without sessions.
func (b *bundle) overHTTP(sessions bool) transport.Connector {
	b.Helper()
	return transport.HTTP(b.Serve(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() },
		&mcp.StreamableHTTPOptions{Stateless: !sessions})))
}

func inMemory() transport.Connector {
	return transport.InMemory(func(transport.Argument) *mcp.Server { return newServer() })
}

// counted is a server whose connector adds a line to the bundle's file of connects.
func (b *bundle) counted(connect transport.Connector) session.Server {
	return session.Server{Name: "server", Connect: fixture.Counting(b.File("connects"), connect)}
}

// connects is how often a connection was opened.
func (b *bundle) connects() int { return len(fixture.Lines(b.File("connects"))) }
