package tests

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A block that is closed straight after a call does not wait for a heartbeat, under
// the SDK's default throttling and with a timeout by which the next one is due in
// 20 s: the session has sent its two markers and no beat more when its server is
// gone. (C6)
func TestCloseDoesNotWaitForAHeartbeat(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	var beats atomic.Int32
	host := *b
	host.client = b.dial(func(o *client.Options) {
		o.ConnectionOptions.DialOptions = append(o.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(
			func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				if _, ok := request.(*workflowservice.RecordActivityTaskHeartbeatRequest); ok {
					beats.Add(1)
				}
				return invoke(ctx, method, request, reply, cc, opts...)
			}))
	})
	host.host(worker.Options{}, session.Options{})
	b.worker(worker.Options{}, func(ctx workflow.Context) (pid string, err error) {
		options := b.options(2 * longHeartbeat)
		return pid, toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) (err error) {
			pid, err = call(ctx, ts, fixture.Pid, nil)
			return err
		})
	})
	var text string
	if err := b.begin(client.StartWorkflowOptions{}).Get(b.ctx, &text); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	if !gone(pid) {
		t.Error("the MCP server's process was there after the block")
	}
	if n := beats.Load(); n != 2 {
		t.Errorf("the session sent %d heartbeats, want its two markers", n)
	}
}
