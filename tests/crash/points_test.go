package crash

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// Places that a host comes to, each seen from outside of the library: by a gRPC
// interceptor, a plugin of the client, a transport around the connector's, or in
// what the MCP server has noted of itself. Those with before and after are calls to
// the Temporal server: after is when the server has answered and nobody knows yet.
const (
	before = "before "
	after  = "after "

	takeSession    = "take session"
	beatMayBeOpen  = "heartbeat " + string(heartbeat.MayBeOpen)
	beatOpened     = "heartbeat " + string(heartbeat.Opened)
	describe       = "describe"
	pollBlock      = "poll the block's queue"
	failSession    = "fail session"
	endSession     = "complete session"
	completeCall   = "complete call-tool"
	completeClose  = "complete close-session"
	connect        = "connect"
	makeWorker     = "make the dedicated worker"
	serverPrefix   = "the server notes "
	serverInits    = serverPrefix + noteInitialize
	serverIsCalled = serverPrefix + noteCall
	serverCloses   = serverPrefix + noteClosing
)

// A point is where a host kills itself: at the first of some places.
type point struct {
	At   []string
	Hold string // what never leaves the host before
}

// A crash kills its process at a point.
type crash struct {
	point
	dying      atomic.Bool
	activities sync.Map // the activity type of each task token
}

// reach says that the host has come to a place. From the kill on, nothing goes on
// that comes by here: other threads may live for a moment.
func (c *crash) reach(place string) {
	if slices.Contains(c.At, place) {
		c.dying.Store(true)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if c.dying.Load() || c.Hold != "" && place == c.Hold {
		select {}
	}
}

// intercept sees every call to the Temporal server.
func (c *crash) intercept(ctx context.Context, method string, request, reply any, on *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	place := c.place(request)
	c.reach(before + place)
	if err := invoke(ctx, method, request, reply, on, options...); err != nil {
		return err
	}
	if task, ok := reply.(*workflowservice.PollActivityTaskQueueResponse); ok && len(task.GetTaskToken()) > 0 {
		c.activities.Store(string(task.GetTaskToken()), task.GetActivityType().GetName())
		if task.GetActivityType().GetName() == queue.SessionActivity(serverName) {
			place = takeSession
		}
	}
	c.reach(after + place)
	return nil
}

// place names a request.
func (c *crash) place(request any) string {
	switch r := request.(type) {
	case *workflowservice.RecordActivityTaskHeartbeatRequest:
		var marker heartbeat.Marker
		if details := r.GetDetails().GetPayloads(); len(details) > 0 {
			_ = converter.GetDefaultDataConverter().FromPayload(details[0], &marker)
		}
		return "heartbeat " + string(marker)
	case *workflowservice.DescribeWorkflowExecutionRequest:
		return describe
	case *workflowservice.PollActivityTaskQueueRequest:
		if strings.Contains(r.GetTaskQueue().GetName(), "@") {
			return pollBlock
		}
	case *workflowservice.RespondActivityTaskCompletedRequest:
		return "complete " + c.activity(r.GetTaskToken())
	case *workflowservice.RespondActivityTaskFailedRequest:
		return "fail " + c.activity(r.GetTaskToken())
	}
	return "something else"
}

// activity returns the last part of the activity type of a task.
func (c *crash) activity(token []byte) string {
	name, _ := c.activities.Load(string(token))
	activityType, _ := name.(string)
	return activityType[strings.LastIndexByte(activityType, '.')+1:]
}

// follow sees what the MCP server notes of itself.
func (c *crash) follow(file string) {
	for seen := 0; ; time.Sleep(5 * time.Millisecond) {
		notes := fixture.Lines(file)
		for _, note := range notes[seen:] {
			event, _, _ := strings.Cut(note, " ")
			c.reach(serverPrefix + event)
		}
		seen = len(notes)
	}
}

// A builder is a plugin of the client that sees workers being made.
type builder struct {
	clientBase
	workerBase
	*crash
}

type (
	clientBase = client.PluginBase
	workerBase = worker.PluginBase
)

// Name implements [worker.Plugin].
func (builder) Name() string { return "crash.builder" }

// ConfigureWorker implements [worker.Plugin].
func (b builder) ConfigureWorker(_ context.Context, o worker.PluginConfigureWorkerOptions) error {
	if strings.Contains(o.TaskQueue, "@") {
		b.reach(makeWorker)
	}
	return nil
}

// A reached transport tells when it is to connect.
type reached struct {
	transport.Watched
	*crash
}

func (r reached) Connect(ctx context.Context) (mcp.Connection, error) {
	r.reach(connect)
	return r.Watched.Connect(ctx)
}
