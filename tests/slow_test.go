package tests

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// A gated transport connects and ends when it is let.
type gated struct {
	transport.Watched
	connect, end *latch
}

func (g gated) Connect(ctx context.Context) (mcp.Connection, error) {
	select {
	case <-g.connect.opened:
		return g.Watched.Connect(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (g gated) Close() error {
	<-g.end.opened
	return g.Watched.Close()
}

// A server whose start, whose tool and whose end each take three times the
// heartbeat timeout is alive all the while, as far as the Temporal server can
// tell: no attempt of the session activity is lost (C4).
func TestHeartbeatsInEveryPhase(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	connect, end := newLatch(), newLatch()
	tool := &heldTool{latch: newLatch()}
	b.Cleanup(func() { connect.open(); end.open(); tool.open() })
	inner := transport.InMemory(func(transport.Argument) *mcp.Server { return serverOf(held, tool.handle) })
	b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(
		func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
			t, err := inner(ctx, arg)
			if err != nil {
				return nil, err
			}
			return gated{t.(transport.Watched), connect, end}, nil
		})}})
	d := b.drive(b.options(shortHeartbeat))
	wait := func(phase string) {
		began := time.Now()
		b.eventually("the time of three heartbeat timeouts has passed", func() bool { return time.Since(began) > 3*shortHeartbeat })
		if attempt := d.sessionActivity().GetAttempt(); attempt != 1 {
			t.Errorf("%s: attempt %d of the session activity runs", phase, attempt)
		}
	}

	opening := d.beginOpen()
	b.awaitLines(b.connectsFile(), 1)
	wait("start")
	connect.open()
	block, err := opening.block()
	if err != nil {
		t.Fatal(err)
	}
	call := block.beginCall(held, nil)
	b.eventually("the tool runs", func() bool { return tool.runs.Load() == 1 })
	wait("call")
	tool.open()
	if text, err := call.text(); err != nil || text != "run 1" {
		t.Errorf("the call returned %q, %v", text, err)
	}
	closing := d.step("close", block.Index)
	wait("end")
	end.open()
	if err := closing.err(); err != nil {
		t.Error(err)
	}
	for _, a := range d.activities(d.run, "mcp.counter.session") {
		if a.started.GetAttempt() != 1 {
			t.Errorf("the session activity ended in attempt %d", a.started.GetAttempt())
		}
	}
	b.wantConnects("here")
}
