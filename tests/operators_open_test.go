package tests

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// waitingFor is a connector whose transports don't connect before a latch is
// open. The other latch is opened by the first that tries.
func waitingFor(gate, reached *latch, connect transport.Connector) transport.Connector {
	ended := newLatch()
	ended.open()
	return func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		t, err := connect(ctx, arg)
		if err != nil {
			return nil, err
		}
		return reaching{gated{t.(transport.Watched), gate, ended}, reached}, nil
	}
}

// A reaching transport tells that it is told to connect.
type reaching struct {
	gated
	reached *latch
}

func (r reaching) Connect(ctx context.Context) (mcp.Connection, error) {
	r.reached.open()
	return r.gated.Connect(ctx)
}

// What an operator does to a session activity that is connecting, and may so have
// a session at any moment: it opens its session, or another attempt does which
// knows that the block has none, or Open fails and says that a session may have
// been lost. There are never two.
func TestOperatorOnASessionThatConnects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		operate  operate
		lost     failure.Reason // Open fails
		connects int
	}{
		"paused":                    {operate: pause, connects: 1},
		"unpaused":                  {operate: pauseAndUnpause, connects: 1},
		"unpaused, details dropped": {operate: pauseAndUnpauseAnew, connects: 1},
		"moved to another queue":    {operate: moveTo("elsewhere"), connects: 1},
		// The marker that it leaves stands for a session, though there was none.
		"reset":                  {operate: resetKeeping, lost: failure.ReasonHostLost, connects: 1},
		"reset, details dropped": {operate: resetDropping, connects: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			gate, reached, never := newLatch(), newLatch(), newLatch()
			first := gate
			if tc.connects > 1 || tc.lost != "" {
				// Its attempt has to be over before another may begin.
				first = never
			}
			b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(inTurn(
				waitingFor(first, reached, ownedFixture(b.taskQueue)), ownedFixture(b.taskQueue)))}})
			d := b.drive(b.options(steadyHeartbeat))
			opening := d.beginOpen()
			b.wait(reached, "the transport to connect")
			operated := time.Now()
			tc.operate(d, d.sessionActivity().GetActivityId())
			if first == gate {
				d.awaitBeats(2)
				gate.open()
			}
			block, err := opening.block()
			b.toldAfter(operated, "Open returned")
			if tc.lost != "" {
				b.wantLoss(err, tc.lost, "")
				if !failure.IsOpen(err) || failure.RanOf(err) != failure.RanNo {
					t.Errorf("the error is no OpenFailure in which no tool ran: %v", err)
				}
				// The workflow may open another.
				if block, err = d.tryOpen(); err != nil {
					t.Fatal(err)
				}
				tc.connects++
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := len(b.processes()); n != 1 {
				t.Errorf("%d servers run", n)
			}
			block.must(fixture.Incr)
			block.wantCounter(1)
			if err := block.close(); err != nil {
				t.Error(err)
			}
			if n := len(b.connects()); n != tc.connects {
				t.Errorf("connectors were run %d times, want %d", n, tc.connects)
			}
		})
	}
}

// What an operator does to a session activity that waits for its next attempt,
// after one that opened nothing, with whatever it makes the activity forget: the
// next attempt opens, since there is no session that could be lost.
func TestOperatorOnASessionInBackoff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		operate func(elsewhere string) operate
		moves   bool
	}{
		"reset":                     {operate: func(string) operate { return resetKeeping }},
		"reset, details dropped":    {operate: func(string) operate { return resetDropping }},
		"unpaused":                  {operate: func(string) operate { return pauseAndUnpause }},
		"unpaused, details dropped": {operate: func(string) operate { return pauseAndUnpauseAnew }},
		"moved to another queue, and reset": {moves: true, operate: func(elsewhere string) operate {
			return func(d *driver, id string) { moveTo(elsewhere)(d, id); resetKeeping(d, id) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			connect := inTurn(failing(errors.New("the licence server is busy")), ownedFixture(b.taskQueue))
			b.host(worker.Options{Identity: "here"}, session.Options{Servers: []session.Server{b.counted(connect)}})
			elsewhere := *b
			elsewhere.taskQueue += "-elsewhere"
			if tc.moves {
				other := *b
				other.taskQueue = elsewhere.taskQueue
				other.host(worker.Options{Identity: "elsewhere"}, session.Options{Servers: []session.Server{
					{Name: "counter", Connect: ownedFixture(b.taskQueue)},
				}})
			}
			options := b.options(longHeartbeat)
			options.Session.RetryPolicy = &temporal.RetryPolicy{InitialInterval: time.Hour, MaximumAttempts: 3}
			d := b.drive(options)
			opening := d.beginOpen()
			d.awaitBackoff()
			tc.operate(elsewhere.hosts())(d, d.sessionActivity().GetActivityId())
			block, err := opening.block()
			if err != nil {
				t.Fatal(err)
			}
			if moved := block.Host == "elsewhere"; moved != tc.moves {
				t.Errorf("the block is on host %q", block.Host)
			}
			block.must(fixture.Incr)
			block.wantCounter(1)
			if err := block.close(); err != nil {
				t.Error(err)
			}
			if n := len(b.connects()); (n == 1) != tc.moves || n > 2 {
				t.Errorf("the first host's connector was run %d times", n)
			}
		})
	}
}
