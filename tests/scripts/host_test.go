package scripts

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A hostConfig is what a host process is told.
type hostConfig struct {
	TaskQueue, Owner, Connects string
	Hang                       bool   // the connector does, and never connects
	Dies                       string // where it kills itself; nowhere if empty
}

// startHost starts a host process with a server over stdio.
func (b *bundle) startHost() *fixture.Process { b.Helper(); return b.startHostOf(hostConfig{}) }

// startHostOf starts a host process, and returns when its worker runs.
func (b *bundle) startHostOf(config hostConfig) *fixture.Process {
	b.Helper()
	config.TaskQueue, config.Owner, config.Connects = b.Hosts(), b.TaskQueue, b.File("connects")
	return b.StartHost(roleHost, config)
}

// newHost is the worker of a host process.
func newHost(config hostConfig, options client.Options) (worker.Worker, error) {
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(config.intercept))
	connect := overStdio(config.Owner)
	if config.Hang {
		connect = func(ctx context.Context, _ transport.Argument) (mcp.Transport, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return fixture.SessionWorker(options, config.TaskQueue,
		session.Server{Name: "server", Connect: fixture.Counting(config.Connects, connect)})
}
