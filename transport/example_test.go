//go:build unix

package transport_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// A server that is run as a child process, one for each session.
func ExampleCommand() {
	connector := transport.Command("npx", "-y", "@playwright/mcp", "--headless")
	_ = connector // for session.Server.Connect
}

// A server that needs a key, which stays on the worker.
func ExampleCommandWithOptions() {
	connector := transport.CommandWithOptions(transport.CommandOptions{
		InheritEnv:   []string{"DATABASE_URL"},
		Env:          []string{"LOG_LEVEL=warn"},
		Dir:          "/srv/reports",
		Logger:       slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		CloseTimeout: 10 * time.Second, // it commits when its input ends
	}, "uvx", "postgres-mcp")
	_ = connector // for session.Server.Connect
}

// A server that can't be started is told from one that may start next time.
func ExamplePermanentError() {
	connector := transport.Command("no-such-server")
	_, err := connector(context.Background(), nil)

	var permanent *transport.PermanentError
	if errors.As(err, &permanent) {
		fmt.Println(permanent.Reason)
	}
	// Output: executable-not-found
}

// A connector of one's own chooses by the workflow's argument. The argument
// names a tenant; what opens the tenant's door is the worker's to look up.
func ExampleConnector() {
	tokens := map[string]string{"blue": "token-of-blue"}
	var connector transport.Connector = func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		var tenant struct{ Name string }
		if err := arg.Decode(&tenant); err != nil {
			return nil, err
		}
		token, ok := tokens[tenant.Name]
		if !ok {
			return nil, transport.Permanent("unknown-tenant", fmt.Errorf("there is no tenant %q", tenant.Name))
		}
		return transport.CommandWithOptions(transport.CommandOptions{
			Env: []string{"TOKEN=" + token},
		}, "tenant-server")(ctx, arg)
	}

	_, err := connector(context.Background(), transport.Argument(`{"name":"red"}`))
	fmt.Println(err)
	// Output: there is no tenant "red"
}

// A server at a URL that wants a key. The function is asked at each connection, on
// the worker: the key is never part of a workflow's history.
func ExampleHTTP() {
	connector := transport.HTTP("https://reports.example.com/mcp",
		transport.WithHeaders(func(context.Context) (http.Header, error) {
			key, err := os.ReadFile("/run/secrets/reports-key")
			if err != nil {
				return nil, err
			}
			return http.Header{"Authorization": {"Bearer " + strings.TrimSpace(string(key))}}, nil
		}))
	_ = connector // for session.Server.Connect
}

// A URL that the workflow's argument chooses, of those that the worker knows.
func ExampleHTTP_argument() {
	urls := map[string]string{"eu": "https://eu.example.com/mcp", "us": "https://us.example.com/mcp"}
	var connector transport.Connector = func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		var region string
		if err := arg.Decode(&region); err != nil {
			return nil, err
		}
		url, ok := urls[region]
		if !ok {
			return nil, transport.Permanent("unknown-region", fmt.Errorf("there is no region %q", region))
		}
		return transport.HTTP(url)(ctx, arg)
	}
	_, err := connector(context.Background(), transport.Argument(`"moon"`))
	fmt.Println(err)
	// Output: there is no region "moon"
}

// A server written in Go, in the worker's own process.
func ExampleInMemory() {
	connector := transport.InMemory(func(transport.Argument) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "greet"},
			func(_ context.Context, _ *mcp.CallToolRequest, in struct{ Name string }) (*mcp.CallToolResult, any, error) {
				text := &mcp.TextContent{Text: "hello, " + in.Name}
				return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil, nil
			})
		return server
	})

	ctx := context.Background()
	over, err := connector(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, over, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"Name": "Ada"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: hello, Ada
}

// No server outlives the worker, not even a worker that is killed.
func ExampleLifeline() {
	// The first statement of main.
	transport.Lifeline()
}
