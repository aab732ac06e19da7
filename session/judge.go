package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

// judge says what an operation's failed request means for its caller. None of its
// verdicts lets the activity be retried: what was sent is never sent again.
func (b *block) judge(ctx context.Context, err error, send *transport.Send, tool string, op queue.Operation) error {
	ran := b.ran(send)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCallCanceled):
		return temporal.NewCanceledError()
	case errors.Is(cause, errCallTimeout):
		timeout := op.Timeout
		if timeout <= 0 {
			timeout = queue.DefaultCallTimeout
		}
		return b.callFailure(failure.ReasonCallTimeout, tool, ran,
			fmt.Sprintf("no answer came within CallTimeout (%v); the request was cancelled", timeout))
	case cause != nil:
		return b.awaitEnding(err).callErr(b.attempt, tool, ran)
	}
	if fault := send.Fault(); fault != nil {
		return b.judgeFault(fault, tool)
	}
	rejected := protocolError(err)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, mcp.ErrSessionMissing),
		// To the MCP SDK a server's own JSON-RPC error may look like a connection
		// that is closing: it goes by the code, -32003 or -32004.
		errors.Is(err, mcp.ErrConnectionClosed) && b.brokenConnection(ctx):
		return b.awaitEnding(err).callErr(b.attempt, tool, ran)
	case rejected != nil:
		return failure.NewMCPProtocol(b.attempt.server.Name, rejected.Message, rejected.Code, rejected.Data)
	case b.brokenConnection(ctx):
		return b.awaitEnding(err).callErr(b.attempt, tool, ran)
	}
	return b.callFailure(failure.ReasonNoAnswer, tool, ran, "the request has no usable answer: "+scrubbed(err).Error())
}

// endingTimeout is how long a request that failed with its connection waits for
// the block to learn why.
const endingTimeout = causeTimeout + time.Second

// awaitEnding returns the block's ending, which a broken connection is about to
// bring, or makes one of err.
func (b *block) awaitEnding(err error) *ending {
	select {
	case <-b.ctx.Done():
	case <-time.After(endingTimeout):
		b.end(lost(failure.ReasonServerGone, "the connection to the MCP server is broken: %v", scrubbed(err)))
	}
	return b.ending()
}

// pingTimeout bounds the question whether a server is still there.
const pingTimeout = 2 * time.Second

// brokenConnection reports whether the server, or the connection to it, is known
// to be gone. When a connection breaks in the middle of a message, the MCP SDK
// gives the requests in flight the reader's own error, which looks like a bad
// answer; only the next request fails as one on a closed connection.
func (b *block) brokenConnection(ctx context.Context) bool {
	if gone := b.conn.gone(); gone != nil && isClosed(gone) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := b.conn.Ping(ctx, nil)
	// A block that has ended meanwhile has cancelled the question.
	return b.ending() != nil || errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing)
}

// judgeFault returns the failure of a request of which the transport knows more
// than the MCP SDK.
func (b *block) judgeFault(fault *transport.Fault, tool string) error {
	if fault.Reason == failure.ReasonServerGone {
		return b.awaitEnding(fault).callErr(b.attempt, tool, fault.ToolRan)
	}
	d := b.attempt.details(fault.Reason, fault.Peer)
	d.Tool, d.ToolRan = tool, fault.ToolRan
	return failure.New(failure.TypeCall, fault.Message, d, nil)
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

// ran says whether the tool of a request that got no answer ran.
func (b *block) ran(send *transport.Send) failure.ToolRan {
	if fault := send.Fault(); fault != nil {
		return fault.ToolRan
	}
	if b.conn.tracksSends() && !send.Began() {
		return failure.RanNo
	}
	return failure.RanUnknown
}

func (b *block) callFailure(reason failure.Reason, tool string, ran failure.ToolRan, message string) error {
	d := b.attempt.details(reason, "")
	d.Tool, d.ToolRan = tool, ran
	return failure.New(failure.TypeCall, message, d, nil)
}

// minimumTooLarge is the size under which no result is taken for too large: a
// codec that inflates a result by more than this is not one.
const minimumTooLarge = 64 << 10

// sdkPayloadLimit is what the SDK's error for a payload over the limit begins
// with; it has no exported type.
const sdkPayloadLimit = "[TMPRL1103]"

// refusedForSize reports whether the activity's last attempt failed because its
// result was over the payload limit, and that limit. The size that counts is the
// one after the codec, which only the SDK sees; so the server is asked what
// became of the last attempt.
func (b *block) refusedForSize(ctx context.Context, info activity.Info) (limit int64, refused bool) {
	response, err := b.attempt.describe(ctx)
	if err != nil {
		return 0, false
	}
	for _, pending := range response.GetPendingActivities() {
		last := pending.GetLastFailure()
		if pending.GetActivityId() != info.ActivityID || pending.GetState() != enumspb.PENDING_ACTIVITY_STATE_STARTED {
			continue
		}
		if strings.Contains(last.GetMessage(), sdkPayloadLimit) || last.GetApplicationFailureInfo().GetType() == "payloadSizeError" {
			return b.payloadLimit(ctx, info.Namespace), true
		}
	}
	return 0, false
}

// payloadLimit returns the namespace's limit for a payload; zero when unknown.
func (b *block) payloadLimit(ctx context.Context, namespace string) int64 {
	response, err := b.attempt.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return 0
	}
	return response.GetNamespaceInfo().GetLimits().GetBlobSizeLimitError()
}
