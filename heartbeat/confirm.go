package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
)

// Describe reads the workflow execution of the activity that asks.
type Describe func(ctx context.Context) (*workflowservice.DescribeWorkflowExecutionResponse, error)

// describeTimeout bounds one reading, so that one that hangs leaves time for
// others.
const describeTimeout = 3 * time.Second

// ErrDescribeDenied is returned by [Confirm] when the client may not describe
// workflows. No wait or retry changes that.
var ErrDescribeDenied = errors.New("the worker's client may not call DescribeWorkflowExecution; " +
	"grant it read access to the namespace (on Temporal Cloud: the Read role or higher)")

// ErrNotPending is returned by [Confirm] when the server does not list the
// attempt as running: it was timed out or reset, or its run is closed.
var ErrNotPending = errors.New("the server does not list this attempt of the session activity as running")

// Confirm reads the workflow execution until it shows that marker is what the
// server has of this attempt, and reports whether the activity had run before.
// It gives up when ctx is done.
//
// Details that a payload codec has encrypted can't be compared here, as the SDK
// gives an activity no way to decode them. They are taken as confirmed when the
// server has recorded a heartbeat of this attempt: the writer has had the
// server's acknowledgement of this very marker.
func Confirm(ctx context.Context, describe Describe, info activity.Info, marker Marker) (ranBefore bool, err error) {
	const firstPause, longestPause = 10 * time.Millisecond, time.Second
	pause := firstPause
	for {
		pending, err := describe.find(ctx, info)
		switch {
		case errors.Is(err, ErrDescribeDenied), errors.Is(err, ErrNotPending):
			return false, err
		case err == nil && pending.GetAttempt() == info.Attempt && shows(pending, marker, info.Attempt):
			return hadRunBefore(pending, info), nil
		case err == nil:
			err = fmt.Errorf("the server does not show the marker %s yet", marker)
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("confirm the marker by DescribeWorkflowExecution: %w", errors.Join(context.Cause(ctx), err))
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		}
	}
}

// RanBefore asks once whether an attempt of the activity came before the one of
// info. The attempt's own number does not tell after an operator's reset.
func RanBefore(ctx context.Context, describe Describe, info activity.Info) (bool, error) {
	pending, err := describe.find(ctx, info)
	if err != nil {
		return false, err
	}
	return hadRunBefore(pending, info), nil
}

// find returns the attempt of info as the server lists it.
func (describe Describe) find(ctx context.Context, info activity.Info) (*workflowpb.PendingActivityInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	response, err := describe(ctx)
	var denied *serviceerror.PermissionDenied
	var notFound *serviceerror.NotFound
	switch {
	case errors.As(err, &denied):
		return nil, fmt.Errorf("%w: %v", ErrDescribeDenied, err)
	case errors.As(err, &notFound):
		return nil, fmt.Errorf("%w: %v", ErrNotPending, err)
	case err != nil:
		return nil, err
	}
	for _, pending := range response.GetPendingActivities() {
		if pending.GetActivityId() == info.ActivityID {
			if pending.GetAttempt() > info.Attempt {
				return nil, fmt.Errorf("%w: attempt %d has begun", ErrNotPending, pending.GetAttempt())
			}
			return pending, nil
		}
	}
	return nil, ErrNotPending
}

// shows reports whether the pending activity's heartbeat details are marker as the
// attempt wrote it, or are there and can't be read.
func shows(pending *workflowpb.PendingActivityInfo, marker Marker, attempt int32) bool {
	payloads := pending.GetHeartbeatDetails()
	if len(payloads.GetPayloads()) == 0 {
		return false
	}
	if !isPlain(payloads.GetPayloads()[0]) {
		return pending.GetLastHeartbeatTime() != nil
	}
	var found Marker
	var author Author
	err := converter.GetDefaultDataConverter().FromPayloads(payloads, &found, &author)
	return err == nil && found == marker && author.Attempt == attempt
}

func isPlain(payload *commonpb.Payload) bool {
	return string(payload.GetMetadata()[converter.MetadataEncoding]) == converter.MetadataEncodingJSON
}

// hadRunBefore reports whether an attempt came before the one that runs now.
// A reset sets the attempt back to 1 and drops the last failure, too. What it
// can't hide is that this attempt was scheduled later than the activity: by the
// workflow at first, in which case the server gives both the same time.
func hadRunBefore(pending *workflowpb.PendingActivityInfo, info activity.Info) bool {
	scheduled := pending.GetScheduledTime()
	return pending.GetAttempt() > 1 || pending.GetLastFailure() != nil || pending.GetLastAttemptCompleteTime() != nil ||
		scheduled != nil && !scheduled.AsTime().Equal(info.ScheduledTime)
}
