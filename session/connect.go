package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/internal/thrown"
	"github.com/mcpsession/mcpsession/transport"
)

// closeTimeout bounds the end of an MCP session over a transport that names no
// bound of its own.
const closeTimeout = 15 * time.Second

// politeTimeout is how long the MCP SDK may take to close a session before its
// transport is closed under it.
const politeTimeout = time.Second

// slowHandshake is how long a handshake may take before the worker's log says so.
const slowHandshake = 10 * time.Second

// causeTimeout is how long a transport may take to say why its server is gone
// after the connection has ended.
const causeTimeout = 2 * time.Second

var (
	errConnectorTimeout = errors.New("the connector did not return in time")
	errConnectTimeout   = errors.New("the server did not answer the MCP handshake in time")
	errSessionless      = errors.New("the server gave no session id, so it keeps no state between calls; " +
		"use a stateless client, or set Server.AllowSessionless if its tools need no state")
)

// clientImplementation is what sessions call themselves in the handshake.
var clientImplementation = &mcp.Implementation{Name: "mcpsession", Version: "0.1.0"}

// A carrier is the transport of one session and what is known beyond it.
type carrier struct {
	transport mcp.Transport
	watched   transport.Watched // nil when the transport is not
}

func newCarrier(t mcp.Transport) carrier {
	watched, _ := t.(transport.Watched)
	return carrier{transport: t, watched: watched}
}

// tracksSends reports whether a request that left no trace in its
// [transport.Send] is known not to have left.
func (c carrier) tracksSends() bool { return c.watched != nil }

// gone is closed when the server is known to be gone; nil when nothing tells.
func (c carrier) gone() <-chan struct{} {
	if c.watched == nil {
		return nil
	}
	return c.watched.Gone()
}

// cause waits a moment for the transport's word on why the server is gone.
func (c carrier) cause() error {
	if c.watched == nil {
		return nil
	}
	select {
	case <-c.watched.Gone():
	case <-time.After(causeTimeout):
	}
	return c.watched.Cause()
}

// A connection is an open MCP session on its carrier.
type connection struct {
	carrier
	*mcp.ClientSession
}

// connect returns an open MCP session that nobody had before: one that was started
// before it was wanted, where the server keeps such, or else one on the carrier. It
// holds nothing when it returns an error.
func (o *opener) connect(ctx context.Context, c carrier) (*connection, error) {
	if conn, err, taken := o.warm.connect(ctx, o, c); taken {
		return conn, err
	}
	return o.connectCold(ctx, c)
}

// connectCold opens the MCP session on the carrier. It holds nothing when it returns
// an error.
func (o *opener) connectCold(ctx context.Context, c carrier) (_ *connection, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout(), errConnectTimeout)
	defer cancel()
	ctx, send := transport.TrackSend(ctx)
	conn, err := o.handshake(ctx, c)
	if err == nil && o.stateful && conn.sessionless(send) {
		err = transport.Permanent(string(failure.ReasonSessionless), errSessionless)
	}
	if err == nil {
		return conn, nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.As(err, new(*transport.PermanentError)) {
		// The SDK says only that its context is done.
		if err = cause; errors.Is(cause, errConnectTimeout) {
			err = o.timedOut(c, send.Fault())
		}
	} else if fault := send.Fault(); fault != nil && !errors.As(err, new(*transport.PermanentError)) {
		// The SDK's error has less, and may have more than it should.
		err = fault
	} else if protocolError(err) == nil && !errors.As(err, new(*transport.PermanentError)) {
		// However the connection broke: a server that is gone says why better than
		// the pipe that it left.
		if cause := c.cause(); cause != nil {
			err = fmt.Errorf("the server went away during the handshake: %w", cause)
		}
	}
	conn.close()
	return nil, err
}

// timedOut is the failure of a handshake that took too long, with what the server
// has said until then.
func (o *opener) timedOut(c carrier, seen *transport.Fault) *transport.Fault {
	late := &transport.Fault{Reason: failure.ReasonConnectTimeout, ToolRan: failure.RanNo, Message: o.tooLong(errConnectTimeout)}
	if seen != nil {
		late.Message += "; " + seen.Message
		late.Peer = seen.Peer
	} else if outspoken, ok := c.transport.(transport.Outspoken); ok {
		if words := outspoken.LastWords(); words != "" {
			late.Message += "; " + scrubbed(errors.New(words)).Error()
		}
	}
	return late
}

func (o *opener) tooLong(what error) string {
	return fmt.Sprintf("%v (ConnectTimeout %v); raise Server.ConnectTimeout if it needs longer", what, o.server.ConnectTimeout)
}

// handshake connects the MCP client. A transport whose Connect does not heed its
// context is left behind, and closed should it ever return.
func (o *opener) handshake(ctx context.Context, c carrier) (*connection, error) {
	type opened struct {
		session *mcp.ClientSession
		err     error
	}
	done := make(chan opened, 1)
	go func() {
		var came opened
		defer func() {
			if p := recover(); p != nil {
				came.err = thrown.Error("the transport", p)
			}
			done <- came
		}()
		client := mcp.NewClient(clientImplementation, o.clientOptions())
		came.session, came.err = client.Connect(ctx, guardedTransport{c.transport}, &mcp.ClientSessionOptions{ProtocolVersion: o.version})
	}()
	var impolite, late <-chan time.Time
	slow := time.NewTimer(slowHandshake)
	defer slow.Stop()
	for cancelled := ctx.Done(); ; {
		select {
		case <-slow.C:
			o.logger.Warn("mcpsession: the MCP server has not answered the handshake yet",
				"server", o.server.Name, "after", slowHandshake, "connectTimeout", o.server.ConnectTimeout)
		case came := <-done:
			return &connection{carrier: c, ClientSession: came.session}, came.err
		case <-cancelled:
			cancelled, impolite, late = nil, time.After(politeTimeout), time.After(closeTimeout)
		case <-impolite:
			// The SDK closes a session that it could not open, and waits for its own
			// answers to the server's requests, which nobody may take.
			go func() { _ = (&connection{carrier: c}).close() }()
		case <-late:
			go func() {
				if came := <-done; came.session != nil {
					_ = came.session.Close()
				}
			}()
			return &connection{carrier: c}, context.Cause(ctx)
		}
	}
}

// sessionless reports whether the connection is one over HTTP on which the server
// keeps nothing between calls. The transport says so in what it noted of the
// handshake; the MCP SDK's own has to be known.
func (c *connection) sessionless(send *transport.Send) bool {
	if _, ok := c.transport.(*mcp.StreamableClientTransport); ok {
		initialize := c.InitializeResult()
		return c.ID() == "" || initialize != nil && initialize.ProtocolVersion >= firstSessionlessVersion
	}
	return send.Sessionless()
}

// firstSessionlessVersion is the MCP version from which on there are no sessions
// over HTTP. Versions are dates.
const firstSessionlessVersion = "2026-07-28"

// close ends the MCP session and its server, in bounded time.
func (c *connection) close() error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- thrown.Error("the transport", p)
			}
		}()
		done <- c.closeBoth()
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(closeTimeout):
		return fmt.Errorf("the MCP server was not gone %v after its session was closed", closeTimeout)
	}
}

// closeBoth closes the MCP session and then its transport. The MCP SDK's Close
// waits for the handlers of the server's requests; a watched transport's ends the
// server, and with it those.
func (c *connection) closeBoth() error {
	if c.ClientSession == nil {
		return c.closeTransport()
	}
	closed := make(chan error, 1)
	go func() { closed <- c.ClientSession.Close() }()
	if c.watched == nil {
		return <-closed
	}
	select {
	case <-closed:
	case <-time.After(politeTimeout):
	}
	return c.closeTransport()
}

func (c *connection) closeTransport() error {
	if c.watched == nil {
		return nil
	}
	return c.watched.Close()
}
