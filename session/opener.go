package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/log"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/internal/thrown"
	"github.com/mcpsession/mcpsession/transport"
)

// An opener connects to a server: what opening a session and opening a connection
// for stateless calls have in common.
type opener struct {
	server       *Server
	argument     json.RawMessage
	version      string // of MCP, to ask for; empty is the newest
	stateful     bool   // a server that keeps no state is refused
	what         string // what is opened, for error texts
	logger       log.Logger
	toolsChanged func() // may be nil
	warm         *warmUse
	began        time.Time // when the ConnectTimeout of all of it did; zero is with each step
}

// sessionOpener is what sessions of a server are opened by.
func sessionOpener(server *Server, argument json.RawMessage, logger log.Logger) *opener {
	return &opener{
		server: server, argument: argument, what: "session", logger: logger,
		version:  cmp.Or(server.ProtocolVersion, DefaultProtocolVersion),
		stateful: !server.AllowSessionless,
	}
}

// open opens a connection, from the connector on, with one ConnectTimeout for all.
func (o *opener) open(ctx context.Context) (*connection, error) {
	o.began = time.Now()
	carrier, err := o.connector(ctx)
	if err != nil {
		return nil, err
	}
	return o.connect(ctx, carrier)
}

// timeout is what is left of the ConnectTimeout.
func (o *opener) timeout() time.Duration {
	if o.began.IsZero() {
		return o.server.ConnectTimeout
	}
	return o.server.ConnectTimeout - time.Since(o.began)
}

// connector runs the user's connector. One that panics fails this attempt and
// not the worker, and one that does not heed its context is left behind: it holds
// nothing yet.
func (o *opener) connector(ctx context.Context) (carrier, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout(), errConnectorTimeout)
	defer cancel()
	type built struct {
		transport mcp.Transport
		err       error
	}
	done := make(chan built, 1)
	go func() {
		var b built
		defer func() {
			if p := recover(); p != nil {
				b.err = thrown.Error("the connector", p)
			}
			done <- b
		}()
		b.transport, b.err = o.server.Connect(ctx, transport.Argument(o.argument))
	}()
	select {
	case <-ctx.Done():
		return carrier{}, context.Cause(ctx)
	case b := <-done:
		if b.err == nil && b.transport == nil {
			b.err = transport.Permanent(string(failure.ReasonConnect), errors.New("the connector returned a nil transport and no error"))
		}
		if cause := context.Cause(ctx); b.err != nil && cause != nil && !errors.As(b.err, new(*transport.PermanentError)) {
			// It says only that its context is done.
			b.err = cause
		}
		if b.err != nil {
			return carrier{}, b.err
		}
		return newCarrier(b.transport), nil
	}
}

// clientOptions are the user's with our defaults and our handler.
func (o *opener) clientOptions() *mcp.ClientOptions {
	var options mcp.ClientOptions
	if o.server.Client != nil {
		options = *o.server.Client
	}
	if options.Capabilities == nil {
		options.Capabilities = &mcp.ClientCapabilities{}
	}
	//lint:ignore SA1019 users may set what the MCP SDK deprecates and still supports
	answers := options.ElicitationHandler != nil || options.CreateMessageHandler != nil || options.CreateMessageWithToolsHandler != nil
	if options.MultiRoundTrip == nil && !answers {
		// Its middleware sends a tool call again when the server asks for input or
		// says that it is busy.
		options.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	}
	theirs := options.ToolListChangedHandler
	options.ToolListChangedHandler = func(ctx context.Context, request *mcp.ToolListChangedRequest) {
		if o.toolsChanged != nil {
			o.toolsChanged()
		}
		if theirs != nil {
			theirs(ctx, request)
		}
	}
	return &options
}

// failure makes an OpenFailure of what a connector or a handshake returned: for
// good when no other attempt would do better.
func (o *opener) failure(err error) error {
	var permanent *transport.PermanentError
	var fault *transport.Fault
	var rejected *jsonrpc.Error
	switch text := err.Error(); {
	case errors.As(err, &permanent):
		return o.permanent(failure.Reason(permanent.Reason), scrubbed(permanent.Err))
	case errors.As(err, &fault):
		return o.faultFailure(fault)
	case errors.Is(err, errConnectorTimeout):
		return o.retryable(failure.ReasonConnectTimeout, errors.New(o.tooLong(err)))
	case strings.Contains(text, "unsupported protocol version"):
		// The MCP SDK's error for it has no exported type.
		return o.permanent(failure.ReasonProtocolVersion, scrubbed(err))
	case errors.As(err, &rejected) && isRefusal(rejected.Code):
		return o.permanent(failure.ReasonConnect, fmt.Errorf("the server refused the MCP handshake, or is no MCP server: %w", scrubbed(err)))
	}
	return o.retryable(failure.ReasonConnect, scrubbed(err))
}

// isRefusal reports whether a JSON-RPC error would be the same on another try.
func isRefusal(code int64) bool {
	switch code {
	case jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams, jsonrpc.CodeMethodNotFound, jsonrpc.CodeParseError, mcp.CodeUnsupportedProtocolVersion:
		return true
	}
	return false
}

// permanent is the failure of an opening that no other attempt would mend.
func (o *opener) permanent(reason failure.Reason, err error) error {
	return failure.New(failure.TypeOpen, o.message(err.Error()), o.details(reason), nil)
}

// retryable is the failure of an opening that leaves nothing; another may succeed.
func (o *opener) retryable(reason failure.Reason, err error) error {
	return failure.NewRetryable(failure.TypeOpen, o.message(err.Error()), o.details(reason), nil)
}

// faultFailure is the failure of an opening whose handshake failed as the transport
// says.
func (o *opener) faultFailure(fault *transport.Fault) error {
	d := o.details(fault.Reason)
	d.Peer = fault.Peer
	if fault.Permanent {
		return failure.New(failure.TypeOpen, o.message(fault.Message), d, nil)
	}
	return failure.NewRetryable(failure.TypeOpen, o.message(fault.Message), d, nil)
}

func (o *opener) message(why string) string { return "no " + o.what + " could be opened: " + why }

func (o *opener) details(reason failure.Reason) failure.Details {
	return failure.Details{Server: o.server.Name, Reason: reason, ToolRan: failure.RanNo}
}
