package tests

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// A heldTool runs until it is let go, and counts.
type heldTool struct {
	*latch
	runs, cancels atomic.Int32

	mu      sync.Mutex
	servers []*mcp.Server
}

const held = "held"

func (h *heldTool) handle(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	n := h.runs.Add(1)
	select {
	case <-h.opened:
		return texts("run %d", n), nil
	case <-ctx.Done():
		h.cancels.Add(1)
		return nil, ctx.Err()
	}
}

// hostHeld starts a host of a server with the tool.
func (b *bundle) hostHeld(on worker.Options) *heldTool {
	b.Helper()
	h, server := b.heldServer()
	b.host(on, session.Options{Servers: []session.Server{server}})
	return h
}

// heldServer is a server with the tool.
func (b *bundle) heldServer() (*heldTool, session.Server) {
	b.Helper()
	h := &heldTool{latch: newLatch()}
	b.Cleanup(h.open)
	return h, b.counted(transport.InMemory(func(transport.Argument) *mcp.Server {
		server := serverOf(held, h.handle)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.servers = append(h.servers, server)
		return server
	}))
}

// sessions returns how many sessions its servers have.
func (h *heldTool) sessions() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, server := range h.servers {
		for range server.Sessions() {
			n++
		}
	}
	return n
}

// wantRanOnce fails the test unless a call got the first run's result, and the
// next call, which finds the session alive, is the second.
func (h *heldTool) wantRanOnce(block *drivenBlock, call *step) {
	block.Helper()
	text, err := call.text()
	if err != nil || text != "run 1" {
		block.Errorf("the call returned %q, %v; want run 1", text, err)
	}
	if text := block.must(held); text != "run 2" || h.cancels.Load() != 0 {
		block.Errorf("the next call was %q, and %d were cancelled", text, h.cancels.Load())
	}
	if err := block.close(); err != nil {
		block.Error(err)
	}
	block.wantConnects("here")
}

// awaitCall returns once the pending call's activity is in the wanted state.
func (d *driver) awaitCall(what string, wanted func(*workflowpb.PendingActivityInfo) bool) *workflowpb.PendingActivityInfo {
	d.Helper()
	var pending *workflowpb.PendingActivityInfo
	d.eventually(what, func() bool {
		pending = d.pendingActivity(queue.OperationActivity("counter", queue.OperationCallTool))
		return pending != nil && wanted(pending)
	})
	return pending
}

func isStarted(p *workflowpb.PendingActivityInfo) bool {
	return p.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED
}

// A call whose activity has less time than its tool takes is made once: the
// attempts that come after join the one that made it. Package toolset refuses such
// options; whoever speaks the wire contract can have them.
func TestRetriesJoinARunningCall(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	tool := b.hostHeld(worker.Options{})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	call := block.wireCall(held, time.Second)
	d.awaitCall("the third attempt runs", func(p *workflowpb.PendingActivityInfo) bool { return p.GetAttempt() >= 3 && isStarted(p) })
	tool.open()
	tool.wantRanOnce(block, call)
}

// A loser is an interceptor that loses the first completions of an activity.
type loser struct {
	interceptor.WorkerInterceptorBase
	activityType string
	most         int32
	lost         atomic.Int32
}

func (l *loser) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &losingActivity{loser: l}
	i.Next = next
	return i
}

type losingActivity struct {
	interceptor.ActivityInboundInterceptorBase
	*loser
}

func (l *losingActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := l.Next.ExecuteActivity(ctx, in)
	if activityTypeOf(ctx) == l.activityType && l.lost.Add(1) <= l.most {
		return nil, activity.ErrResultPending
	}
	return result, err
}

// The completion of a call is lost on its way, twice: the tool has run, and the
// third attempt gets what the session has kept.
func TestCompletionLost(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	tool := b.hostHeld(worker.Options{Interceptors: []interceptor.WorkerInterceptor{
		&loser{activityType: queue.OperationActivity("counter", queue.OperationCallTool), most: 2},
	}})
	options := b.options(longHeartbeat)
	options.CallTimeout = 2 * time.Second
	options.Operation.StartToCloseTimeout = 2 * time.Second
	d := b.drive(options)
	block := d.open()
	tool.open()
	tool.wantRanOnce(block, block.beginCall(held, nil))
	first := d.activities(d.run, queue.OperationActivity("counter", queue.OperationCallTool))[0]
	if attempt := first.started.GetAttempt(); attempt != 3 {
		t.Errorf("the call took %d attempts, want 3", attempt)
	}
}

// A call's schedule-to-close timeout passes while its tool runs: the call fails,
// what the tool did is unknown, it is not run again, and the session lives on.
func TestActivityTimeoutPasses(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	tool := b.hostHeld(worker.Options{})
	options := b.options(longHeartbeat)
	options.Tools = map[string]workflow.ActivityOptions{held: {ScheduleToCloseTimeout: 3 * time.Second}}
	d := b.drive(options)
	block := d.open()
	call := block.beginCall(held, nil)
	err := call.err()
	details, ok := failure.Call(err)
	if !ok || details.Reason != failure.ReasonActivityTimeout || failure.RanOf(err) != failure.RanUnknown || details.Tool != held {
		t.Fatalf("CallFailure %v, details %+v: %v", ok, details, err)
	}
	tool.open()
	if text := block.must(held); text != "run 2" {
		t.Errorf("the next call was %q, want run 2", text)
	}
	if err := block.close(); err != nil {
		t.Error(err)
	}
}

// Options with which a call's activity would end before its request are refused
// before anything is scheduled.
func TestTimeoutBelowCallTimeoutIsRefused(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	b.hostHeld(worker.Options{})
	options := b.options(longHeartbeat)
	options.Operation.StartToCloseTimeout = toolset.DefaultCallTimeout - time.Second
	d := b.drive(options)
	_, err := d.tryOpen()
	if err == nil {
		t.Fatal("the options were taken")
	}
	mentions(t, err.Error(), "Options.Operation", "StartToCloseTimeout", "CallTimeout")
	b.wantConnects()
}
