package warm

import (
	"context"
	"os"
	"syscall"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A hostConfig is what a host process is told.
type hostConfig struct {
	TaskQueue, Owner string
	Serving          serving
	Warm             int
	Wrapped          bool
	DiesBefore       heartbeat.Marker // it kills itself when it is about to write this; never if empty
}

// startHost starts a host process, and returns when its worker runs.
func (b *bundle) startHost(role string, config hostConfig) *fixture.Process {
	b.Helper()
	config.TaskQueue, config.Owner = b.Hosts(), b.TaskQueue
	return b.StartHost(role, config)
}

// newHost is the worker of a host process.
func newHost(config hostConfig, options client.Options) (worker.Worker, error) {
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(config.intercept))
	s := session.Server{Name: "server", Connect: config.Serving.connector(config.Owner), Warm: config.Warm}
	if config.Wrapped {
		s.Connect = config.Serving.wrapped(config.Owner)
	}
	return fixture.SessionWorker(options, config.TaskQueue, s)
}

// intercept sees every call to the Temporal server.
func (config hostConfig) intercept(ctx context.Context, method string, request, reply any, on *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if beat, ok := request.(*workflowservice.RecordActivityTaskHeartbeatRequest); ok && config.DiesBefore != "" {
		var marker heartbeat.Marker
		if details := beat.GetDetails().GetPayloads(); len(details) > 0 {
			_ = converter.GetDefaultDataConverter().FromPayload(details[0], &marker)
		}
		if marker == config.DiesBefore {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // other threads may live for a moment
		}
	}
	return invoke(ctx, method, request, reply, on, options...)
}
