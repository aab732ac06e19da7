package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/internal/thrown"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

// An exchange is one request to an MCP server, whoever makes it: this is the engine
// that stateful and stateless operations share.
type exchange struct {
	holder
	conn         *connection
	server, tool string
	op           queue.Operation
	send         *transport.Send
	resent       bool // it was sent before, and the tool may have run then
}

// resentKey marks the context of a request that was sent before.
type resentKey struct{}

// unsent says whether the tool of a request ran that was not sent this time.
func unsent(ctx context.Context) failure.ToolRan {
	if ctx.Value(resentKey{}) != nil {
		return failure.RanUnknown
	}
	return failure.RanNo
}

// A holder is who makes requests of a connection: a block, a stateless call, or a
// script with a session of its own. It knows what a failure means for it.
type holder interface {
	// fail is the failure of a request alone.
	fail(message string, d failure.Details) error
	// cutShort is the failure of a request that ended with its connection, of which
	// err tells, or with its holder.
	cutShort(err error, tool string, ran failure.ToolRan) error
	// hasEnded reports whether the holder has ended, which cancels its requests.
	hasEnded() bool
}

// The causes by which a request's context is cancelled, besides a block's ending.
var (
	errCallCanceled = errors.New("the workflow cancelled the call")
	errCallTimeout  = errors.New("the call's timeout passed")
	errNoTimeLeft   = errors.New("the activity's timeout is about to pass")
)

// request makes the request and returns its result, or its failure.
func (x *exchange) request(ctx context.Context, request func(context.Context) (any, error)) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, x.op.Timeout, errCallTimeout)
	defer cancel()
	result, err := request(ctx)
	if err != nil {
		return nil, x.judge(ctx, err)
	}
	return result, nil
}

// ask is request, with the result as JSON.
func (x *exchange) ask(ctx context.Context, request func(context.Context) (any, error)) (json.RawMessage, error) {
	result, err := x.request(ctx, request)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(result)
	if err != nil {
		return nil, x.failed(failure.ReasonNoAnswer, failure.RanYes, fmt.Sprintf("encode the result: %v", err))
	}
	if x.op.MaxResult > 0 && len(value) > x.op.MaxResult {
		return nil, failure.NewResultOverBound(failure.SizeDetails{
			Server: x.server, Tool: x.tool, Size: int64(len(value)), Limit: int64(x.op.MaxResult),
		})
	}
	return value, nil
}

// judge says what a failed request means for its caller.
func (x *exchange) judge(ctx context.Context, err error) error {
	ran := x.ran()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCallCanceled):
		return temporal.NewCanceledError()
	case errors.Is(cause, errCallTimeout):
		return x.failed(failure.ReasonCallTimeout, ran,
			fmt.Sprintf("no answer came within CallTimeout (%v); the request was cancelled", x.op.Timeout))
	case errors.Is(cause, errNoTimeLeft):
		return x.failed(failure.ReasonActivityTimeout, ran, "no answer came before the activity's own timeout; the request was cancelled")
	case errors.Is(cause, errCallerGone), errors.Is(cause, errScriptOver):
		return x.failed(failure.ReasonCallCanceled, ran, cause.Error()+"; the request was cancelled")
	case errors.Is(cause, errScriptTimeout):
		return x.failed(failure.ReasonCallTimeout, ran, cause.Error()+"; the request was cancelled")
	case cause != nil:
		return x.cutShort(err, x.tool, ran)
	}
	if fault := x.send.Fault(); fault != nil {
		return x.judgeFault(fault)
	}
	rejected := protocolError(err)
	switch {
	case errors.Is(err, mcp.ErrSessionMissing),
		// To the MCP SDK a server's own JSON-RPC error may look like a connection
		// that is closing: it goes by the code, -32003 or -32004. And an answer with
		// neither a result nor an error looks like the connection's end.
		(errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed)) && x.brokenConnection(ctx):
		return x.cutShort(err, x.tool, ran)
	case rejected != nil:
		return failure.NewMCPProtocol(x.server, rejected.Message, rejected.Code, rejected.Data)
	case x.brokenConnection(ctx):
		return x.cutShort(err, x.tool, ran)
	}
	return x.failed(failure.ReasonNoAnswer, ran, "the request has no usable answer: "+scrubbed(err).Error())
}

// judgeFault returns the failure of a request of which the transport knows more
// than the MCP SDK.
func (x *exchange) judgeFault(fault *transport.Fault) error {
	if fault.Reason == failure.ReasonServerGone {
		return x.cutShort(fault, x.tool, x.ran())
	}
	return x.fail(fault.Message, failure.Details{Reason: fault.Reason, Peer: fault.Peer, Tool: x.tool, ToolRan: x.ran()})
}

func (x *exchange) failed(reason failure.Reason, ran failure.ToolRan, message string) error {
	return x.fail(message, failure.Details{Reason: reason, Tool: x.tool, ToolRan: ran})
}

func (x *exchange) panicked(p any) error {
	return x.failed(failure.ReasonNoAnswer, x.ran(), thrown.Error("the request", p).Error())
}

// ran says whether the tool of a request that got no answer ran.
func (x *exchange) ran() failure.ToolRan {
	ran := failure.RanUnknown
	if fault := x.send.Fault(); fault != nil {
		ran = fault.ToolRan
	} else if x.conn.tracksSends() && !x.send.Began() {
		ran = failure.RanNo
	}
	if x.resent && ran == failure.RanNo {
		return failure.RanUnknown
	}
	return ran
}

// pingTimeout bounds the question whether a server is still there.
const pingTimeout = 2 * time.Second

// brokenConnection reports whether the server, or the connection to it, is known
// to be gone. When a connection breaks in the middle of a message, the MCP SDK
// gives the requests in flight the reader's own error, which looks like a bad
// answer; only the next request fails as one on a closed connection.
func (x *exchange) brokenConnection(ctx context.Context) bool {
	if gone := x.conn.gone(); gone != nil && isClosed(gone) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := x.conn.Ping(ctx, nil)
	// A holder that has ended meanwhile has cancelled the question.
	return x.hasEnded() || errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing)
}

// protocolError returns the JSON-RPC error that the server answered with; nil when
// there is none in err. The MCP SDK marks what its transport rejected by an error
// of the same type.
func protocolError(err error) *jsonrpc.Error {
	const rejectedCode, rejectedText = -32005, "rejected by transport"
	if rpc, ok := err.(*jsonrpc.Error); ok && (rpc.Code != rejectedCode || rpc.Message != rejectedText) {
		return rpc
	}
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		return protocolError(wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range wrapper.Unwrap() {
			if rpc := protocolError(e); rpc != nil {
				return rpc
			}
		}
	}
	return nil
}
