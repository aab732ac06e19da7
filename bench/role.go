package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

const (
	// roleVariable makes this program one of the processes that it starts: a session
	// host, or an MCP server.
	roleVariable = "MCPSESSION_BENCH_ROLE"
	// urlVariable is where a host's sessions go; over stdio if there is none.
	urlVariable = "MCPSESSION_BENCH_URL"
)

func playRole() {
	transport.Lifeline()
	var err error
	switch role := os.Getenv(roleVariable); role {
	case "stdio":
		err = benchServer().Run(context.Background(), &mcp.StdioTransport{})
	case "slow":
		err = serveSlow()
	case "http":
		err = serve(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return benchServer() }, nil))
	case "sse":
		err = serve(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return benchServer() }, nil))
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

// serve prints the URL that it serves at.
func serve(handler http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return http.Serve(l, handler)
}

// host holds sessions until it is interrupted.
func host() error {
	connect, err := overStdio()
	if err != nil {
		return err
	}
	if url := os.Getenv(urlVariable); url != "" {
		connect = transport.HTTP(url, transport.WithHeaders(func(context.Context) (http.Header, error) {
			return http.Header{hostHeader: {fmt.Sprint(os.Getpid())}}, nil
		}))
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
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{Name: "bench", Connect: connect}}})
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
