package crash

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// serverName is what workers call the MCP server.
const serverName = "counter"

// A hosting is what a host of sessions is told.
type hosting struct {
	Name      string // its worker's identity
	TaskQueue string
	Notes     string // the row's
	Owner     string // the row's
	URL       string // of the MCP server over HTTP; over stdio if empty

	Crash      point  // where it kills itself; nowhere if empty
	ServerHold string // the event after which its MCP server waits
	ServerFail string // the event that its MCP server fails

	ServerAlone bool // its MCP server has no process of its own
}

// server is the MCP server as a host serves it.
func (h hosting) server(c *crash) session.Server {
	return session.Server{
		Name: serverName,
		Connect: func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
			told := serving{Notes: h.Notes, Hold: h.ServerHold, Fail: h.ServerFail, Alone: h.ServerAlone}
			if err := argument.Decode(&told.Block); err != nil {
				return nil, err
			}
			if err := told.note(ctx, noteConnector, h.Name); err != nil {
				return nil, err
			}
			t, err := h.connector(told)(ctx, argument)
			if err != nil {
				return nil, err
			}
			return reached{t.(transport.Watched), c}, nil
		},
	}
}

func (h hosting) connector(told serving) transport.Connector {
	if h.URL != "" {
		return transport.HTTP(h.URL + "/mcp?" + told.encode())
	}
	return fixture.Stdio(roleStdio, h.Owner, servingVariable+"="+told.encode())
}

// worker returns the host's worker. It runs no workflows: those outlive it.
func (h hosting) worker(c client.Client, at *crash) (worker.Worker, error) {
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{h.server(at)}})
	if err != nil {
		return nil, err
	}
	return worker.New(c, h.TaskQueue, worker.Options{
		Identity: h.Name, DisableWorkflowWorker: true, Plugins: []worker.Plugin{plugin},
		Interceptors: []interceptor.WorkerInterceptor{&finding{notes: h.Notes, host: h.Name}},
	}), nil
}

// newHost is the worker of a host process, which ends by its own hand.
func newHost(h hosting, options client.Options) (worker.Worker, error) {
	at := &crash{point: h.Crash}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(at.intercept))
	options.Plugins = append(options.Plugins, builder{crash: at})
	c, err := client.Dial(options)
	if err != nil {
		return nil, err
	}
	go at.follow(h.Notes)
	return h.worker(c, at)
}
