package session

import (
	"context"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/failure"
)

// A block's failures never let the activity be retried: what was sent is never sent
// again, but for what the ledger reopens.

// fail implements [holder].
func (b *block) fail(message string, d failure.Details) error {
	of := b.attempt.details(d.Reason, d.Peer)
	of.Tool, of.ToolRan = d.Tool, d.ToolRan
	return failure.New(failure.TypeCall, message, of, nil)
}

// callFailure is the failure of one operation in the attempt's session.
func (a *attempt) callFailure(reason failure.Reason, tool string, ran failure.ToolRan, message string) error {
	d := a.details(reason, "")
	d.Tool, d.ToolRan = tool, ran
	return failure.New(failure.TypeCall, message, d, nil)
}

// cutShort implements [holder].
func (b *block) cutShort(err error, tool string, ran failure.ToolRan) error {
	return b.awaitEnding(err).callErr(b.attempt, tool, ran)
}

// hasEnded implements [holder].
func (b *block) hasEnded() bool { return b.ending() != nil }

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

// repeatable reports whether a failure is one after which a request that may run
// twice is worth sending again: the session lives on, and the server has refused it
// for now or its answer is lost.
func repeatable(err error) bool {
	d, ok := failure.Call(err)
	if !ok || d.ToolRan == failure.RanYes {
		return false
	}
	return passes(d.Reason)
}

// passes reports whether a request that failed so on a connection that lives may
// fare better later.
func passes(reason failure.Reason) bool {
	switch reason {
	case failure.ReasonRateLimited, failure.ReasonUnavailable, failure.ReasonGateway, failure.ReasonServerError, failure.ReasonNoAnswer:
		return true
	}
	return false
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
func refusedForSize(ctx context.Context, c client.Client, info activity.Info) (limit int64, refused bool) {
	response, err := describe(ctx, c, info)
	if err != nil {
		return 0, false
	}
	for _, pending := range response.GetPendingActivities() {
		last := pending.GetLastFailure()
		if pending.GetActivityId() != info.ActivityID || pending.GetState() != enumspb.PENDING_ACTIVITY_STATE_STARTED {
			continue
		}
		if strings.Contains(last.GetMessage(), sdkPayloadLimit) || last.GetApplicationFailureInfo().GetType() == "payloadSizeError" {
			return payloadLimit(ctx, c, info.Namespace), true
		}
	}
	return 0, false
}

// payloadLimit returns the namespace's limit for a payload; zero when unknown.
func payloadLimit(ctx context.Context, c client.Client, namespace string) int64 {
	response, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return 0
	}
	return response.GetNamespaceInfo().GetLimits().GetBlobSizeLimitError()
}
