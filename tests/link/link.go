// Package link is a bad network between a Temporal client and its server: a gRPC
// proxy that forwards every request, and to which a test gives faults. A fault sees
// the request as it came over the wire, and decides whether and when the server
// gets it and what the client is answered. Connections can be cut and reset.
package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"sync"
	"time"

	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // what SDK clients send is compressed
	"google.golang.org/grpc/keepalive"
)

// maxMessage is more than any message of a test has.
const maxMessage = 64 << 20

// keepAlive is the least time between two pings of a client.
const keepAlive = time.Second

// Names of requests that tests put faults on.
const (
	Beat     = "RecordActivityTaskHeartbeat"
	Complete = "RespondActivityTaskCompleted"
	Fail     = "RespondActivityTaskFailed"
	Poll     = "PollActivityTaskQueue"
	Describe = "DescribeWorkflowExecution"
)

// A Forward hands the request that a fault has got to the server and returns the
// server's answer. It may be called more than once.
type Forward func(context.Context) (any, error)

// A Fault answers a request of a client, whose context ends when the client no
// longer waits.
type Fault func(ctx context.Context, request any, forward Forward) (any, error)

// A Link is the proxy.
type Link struct {
	server  *grpc.Server
	backend *grpc.ClientConn
	network *network
	done    sync.WaitGroup
	closed  context.Context
	close   context.CancelFunc

	mu     sync.Mutex
	faults map[string]Fault
	counts map[string]int
	tasks  map[string]Task
}

// A Task is an activity task that went through a link.
type Task struct {
	ActivityType string
	TaskQueue    string
	RunID        string
	Attempt      int32
}

// Start starts a link to the Temporal server at an address.
func Start(target string) (*Link, error) {
	backend, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, backend.Close())
	}
	l := &Link{backend: backend, network: newNetwork(listener), faults: make(map[string]Fault), counts: make(map[string]int), tasks: make(map[string]Task)}
	l.closed, l.close = context.WithCancel(context.Background())
	service, err := proxy.NewWorkflowServiceProxyServer(proxy.WorkflowServiceProxyOptions{
		Client: workflowservice.NewWorkflowServiceClient(backend),
	})
	if err != nil {
		return nil, errors.Join(err, listener.Close(), backend.Close())
	}
	l.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepAlive, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(l.intercept),
	)
	workflowservice.RegisterWorkflowServiceServer(l.server, service)
	l.done.Go(func() { _ = l.server.Serve(l.network) })
	return l, nil
}

// Address is where clients find the link.
func (l *Link) Address() string { return l.network.Addr().String() }

// Close ends the link and everything that waits in it.
func (l *Link) Close() {
	l.close()
	l.network.Heal()
	l.server.Stop()
	_ = l.backend.Close()
	l.done.Wait()
}

// Cut stops all bytes, both ways, and tells nobody. What was sent arrives when the
// link is healed.
func (l *Link) Cut() { l.network.Cut() }

// Heal ends a cut.
func (l *Link) Heal() { l.network.Heal() }

// Mend ends a cut and all faults.
func (l *Link) Mend() {
	l.mu.Lock()
	clear(l.faults)
	l.mu.Unlock()
	l.Heal()
}

// Reset breaks all connections, and refuses new ones for that long.
func (l *Link) Reset(outage time.Duration) { l.network.Reset(outage) }

// Put makes a fault see the requests of a name from now on; nil ends that.
func (l *Link) Put(name string, fault Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults[name] = fault
}

// Count returns how many requests of a name have come so far.
func (l *Link) Count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[name]
}

// Task returns the task of a token that came by.
func (l *Link) Task(token []byte) Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tasks[string(token)]
}

// Direct is the server itself, without faults.
func (l *Link) Direct() workflowservice.WorkflowServiceClient {
	return workflowservice.NewWorkflowServiceClient(l.backend)
}

func (l *Link) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	name := path.Base(info.FullMethod)
	l.mu.Lock()
	l.counts[name]++
	fault := l.faults[name]
	l.mu.Unlock()
	forward := func(ctx context.Context) (any, error) {
		reply, err := handle(ctx, request)
		if task, ok := reply.(*workflowservice.PollActivityTaskQueueResponse); ok && err == nil && len(task.GetTaskToken()) > 0 {
			l.note(task, request.(*workflowservice.PollActivityTaskQueueRequest).GetTaskQueue().GetName())
		}
		return reply, err
	}
	if fault == nil {
		return forward(ctx)
	}
	reply, err := fault(ctx, request, forward)
	if err == nil && reply == nil {
		return nil, fmt.Errorf("link: a fault of %s gave neither an answer nor an error", name)
	}
	return reply, err
}

func (l *Link) note(task *workflowservice.PollActivityTaskQueueResponse, taskQueue string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks[string(task.GetTaskToken())] = Task{
		ActivityType: task.GetActivityType().GetName(),
		TaskQueue:    taskQueue,
		RunID:        task.GetWorkflowExecution().GetRunId(),
		Attempt:      task.GetAttempt(),
	}
}
