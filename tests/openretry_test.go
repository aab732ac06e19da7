package tests

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// inTurn is a connector that is another one each time it is run; the last stays.
func inTurn(connectors ...transport.Connector) transport.Connector {
	var turn atomic.Int32
	return func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		n := min(int(turn.Add(1)), len(connectors)) - 1
		return connectors[n](ctx, arg)
	}
}

func failing(err error) transport.Connector {
	return func(context.Context, transport.Argument) (mcp.Transport, error) { return nil, err }
}

// A refusing transport fails to connect.
type refusing struct{ err error }

func (r refusing) Connect(context.Context) (mcp.Connection, error) { return nil, r.err }

func bring(t mcp.Transport) transport.Connector {
	return func(context.Context, transport.Argument) (mcp.Transport, error) { return t, nil }
}

// The first attempt fails to connect, in one way or another, before a session is
// open; the next opens one, and the block never notices.
func TestOpenIsRetried(t *testing.T) {
	t.Parallel()
	errBusy := errors.New("the licence server is busy")
	for name, first := range map[string]func(b *bundle) transport.Connector{
		"the connector fails":      func(*bundle) transport.Connector { return failing(errBusy) },
		"the connector panics":     func(*bundle) transport.Connector { return panicking },
		"the connection fails":     func(*bundle) transport.Connector { return bring(refusing{errBusy}) },
		"the server exits":         func(b *bundle) transport.Connector { return command("", "exits", b.file("exits")).Connect },
		"the server never answers": func(b *bundle) transport.Connector { return command("", "silent", b.file("silent")).Connect },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			s := b.counted(inTurn(first(b), ownedFixture(b.taskQueue)))
			s.ConnectTimeout = 3 * time.Second
			b.host(worker.Options{}, session.Options{Servers: []session.Server{s}})
			d := b.drive(b.options(longHeartbeat))
			began := time.Now()
			block := d.open()
			b.toldAfter(began, "the block was open")
			block.must(fixture.Incr)
			block.wantCounter(1)
			if err := block.close(); err != nil {
				t.Error(err)
			}
			b.wantConnects("here", "here")
		})
	}
}

func panicking(context.Context, transport.Argument) (mcp.Transport, error) { panic("no such tenant") }

// A connector that says that no retry helps is not run again: Open fails at once
// with its reason. The workflow may open again, which runs it once more.
func TestOpenFailsForGood(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	refuse := failing(transport.Permanent("no-licence", errors.New("this tenant has no licence")))
	b.host(worker.Options{}, session.Options{Servers: []session.Server{
		b.counted(inTurn(refuse, bring(refusing{transport.Permanent("no-seat", errors.New("all seats are taken"))}), ownedFixture(b.taskQueue))),
	}})
	d := b.drive(b.options(longHeartbeat))
	for _, want := range []struct{ reason, text string }{
		{"no-licence", "this tenant has no licence"},
		{"no-seat", "all seats are taken"},
	} {
		_, err := d.tryOpen()
		details, ok := failure.Open(err)
		if !ok || string(details.Reason) != want.reason || details.ToolRan != failure.RanNo || failure.IsDedicatedWorker(err) {
			t.Fatalf("OpenFailure %v, details %+v, want reason %s: %v", ok, details, want.reason, err)
		}
		mentions(t, err.Error(), `"counter"`, want.text)
	}
	b.wantConnects("here", "here")
	block := d.open()
	block.wantCounter(0)
	if err := block.close(); err != nil {
		t.Error(err)
	}
}

// A connector that fails whenever it is run is run three times, by default; then
// Open fails and says why.
func TestOpenFailsAfterItsAttempts(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	busy := failing(errors.New("the licence server is busy"))
	b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(inTurn(busy, busy, busy, ownedFixture(b.taskQueue)))}})
	d := b.drive(b.options(longHeartbeat))
	_, err := d.tryOpen()
	details, ok := failure.Open(err)
	if !ok || details.Reason != failure.ReasonConnect || failure.RanOf(err) != failure.RanNo {
		t.Fatalf("OpenFailure %v, details %+v: %v", ok, details, err)
	}
	mentions(t, err.Error(), "the licence server is busy")
	b.wantConnects("here", "here", "here")

	block := d.open()
	block.wantCounter(0)
	if err := block.close(); err != nil {
		t.Error(err)
	}
}

// A handshake that takes too long is a failure that says so, and leaves no
// process behind, whichever attempt it was (C17).
func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	pids := b.file("silent")
	s := b.counted(command("", "silent", pids).Connect)
	s.ConnectTimeout = time.Second
	b.host(worker.Options{}, session.Options{Servers: []session.Server{s}})
	options := b.options(longHeartbeat)
	d := b.drive(options)
	_, err := d.tryOpen()
	details, ok := failure.Open(err)
	if !ok || details.Reason != failure.ReasonConnectTimeout {
		t.Fatalf("OpenFailure %v, details %+v: %v", ok, details, err)
	}
	mentions(t, err.Error(), "ConnectTimeout 1s")
	for _, pid := range b.lines(pids) {
		b.eventually("process "+pid+" is gone", func() bool { return exited(t, pid) })
	}
	b.wantConnects("here", "here", "here")
}
