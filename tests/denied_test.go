package tests

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// shortBeat is a heartbeat timeout for tests that wait until a host has heard of a
// cancel, by its next beat.
const shortBeat = 6 * time.Second

// dial returns another client of the test's server.
func (b *bundle) dial(change func(*client.Options)) client.Client {
	b.Helper()
	return fixture.Dial(b, b.ctx, server, func(options *client.Options) {
		tellIfVerbose(options)
		change(options)
	})
}

// A worker whose client may not describe workflows can't open sessions: the block
// is told which permission is missing, once, and no server is started.
func TestDescribeDenied(t *testing.T) {
	t.Parallel()
	b := setup(t)
	host := *b
	host.taskQueue += "-host"
	host.client = b.dial(func(o *client.Options) {
		o.ConnectionOptions.DialOptions = append(o.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(
			func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				if strings.HasSuffix(method, "/DescribeWorkflowExecution") {
					return status.Error(codes.PermissionDenied, "Request unauthorized.")
				}
				return invoke(ctx, method, request, reply, cc, opts...)
			}))
	})
	connected := newLatch()
	host.worker(worker.Options{DisableWorkflowWorker: true}, nil, session.Server{
		Name: "counter",
		Connect: transport.InMemory(func(transport.Argument) *mcp.Server {
			connected.open()
			return fixed()
		}),
	})
	sessionOptions := attempts(3)
	sessionOptions.TaskQueue = host.taskQueue
	f, took := b.failToOpen(toolset.Options{Server: "counter", Session: sessionOptions})
	checkOpenFailure(t, f, "counter", failure.ReasonDescribeDenied, "DescribeWorkflowExecution", "grant", "Request unauthorized")
	if connected.isOpen() {
		t.Error("a server was started")
	}
	if took > testTimeout/3 {
		t.Errorf("it took %v", took)
	}
	run := b.client.GetWorkflow(b.ctx, b.taskQueue, "")
	if s := b.activities(run, "mcp.counter.session"); len(s) != 1 || s[0].started.GetAttempt() != 1 {
		t.Errorf("%d session activities, the first took %d attempts", len(s), s[0].started.GetAttempt())
	}
}
