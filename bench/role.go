package main

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// roleVariable makes this program one of the processes that it starts: a session
// host, or the MCP server that a host starts.
const roleVariable = "MCPSESSION_BENCH_ROLE"

func playRole() {
	transport.Lifeline()
	var err error
	switch role := os.Getenv(roleVariable); role {
	case "mcp":
		err = pidServer().Run(context.Background(), &mcp.StdioTransport{})
	case "host":
		err = host()
	default:
		err = fmt.Errorf("%s is %q", roleVariable, role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// host holds sessions until it is interrupted.
func host() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return err
	}
	options.Logger = quiet{}
	c, err := client.Dial(options)
	if err != nil {
		return err
	}
	defer c.Close()
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name: "bench",
		Connect: transport.CommandWithOptions(transport.CommandOptions{
			Env: []string{roleVariable + "=mcp", fmt.Sprintf("HOST_PID=%d", os.Getpid())},
		}, self),
	}}})
	if err != nil {
		return err
	}
	w := worker.New(c, lossQueue+"-hosts", worker.Options{Plugins: []worker.Plugin{plugin}})
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("ready")
	<-worker.InterruptCh()
	w.Stop()
	return nil
}

// pidServer tells who it is and who holds it, and can be waited for.
func pidServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "pids"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
			Text: fmt.Sprintf("%s %d", os.Getenv("HOST_PID"), os.Getpid()),
		}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	return s
}
