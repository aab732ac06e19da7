package toolset

import (
	"cmp"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// randomStream names the stream that block keys are drawn from. A change of it
// changes the keys of blocks that are open.
const randomStream = "github.com/mcpsession/mcpsession/block"

// infoTimeout is how long one attempt may wait for the session to tell what it
// is. Attempts go on for as long as the session activity does.
const infoTimeout = 10 * time.Second

// Open opens a block and returns when its session serves. The caller must Close
// it, or use [With].
//
// Its error is an OpenFailure, whose details say why no session could be opened;
// no tool ran, and opening again is safe. When ctx is cancelled meanwhile it is a
// CanceledError. Options that make no sense give an error that names the field,
// before anything is scheduled.
func Open(ctx workflow.Context, options Options) (*Toolset, error) {
	settings, err := options.resolve()
	if err != nil {
		return nil, err
	}
	if workflow.IsReadOnly(ctx) {
		return nil, fmt.Errorf("toolset: server %q: a block can't be opened in a query handler, an update validator or a side effect", options.Server)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}

	again := openings{most: settings.Session.RetryPolicy.MaximumAttempts}
	for {
		ts, err := open(ctx, settings)
		if err == nil {
			return ts, nil
		}
		if !again.allow(ts.leftNothing(ctx), err) {
			return nil, err
		}
	}
}

// openings counts the activities that have opened nothing, for what Temporal does not
// retry by itself.
type openings struct {
	most     int32 // hosts that may be lost; zero is any number
	lost     int32
	passedOn int
}

// allow reports whether another activity is to be scheduled after one that ended with
// err: it was lost with its host before it had opened anything, or its worker was about
// to stop.
func (o *openings) allow(leftNothing bool, err error) bool {
	switch {
	case leftNothing:
		o.lost++
		return o.most == 0 || o.lost < o.most
	case stopping(err):
		o.passedOn++
		return o.passedOn < maxPassedOn
	}
	return false
}

// maxPassedOn bounds how often a session is passed on by workers that stop: each
// of them may have as many polls under way as it has pollers.
const maxPassedOn = 50

// stopping reports whether err is the refusal of a worker that is about to stop.
func stopping(err error) bool {
	d, ok := failure.Open(err)
	return ok && d.Reason == failure.ReasonWorkerStopped && !failure.IsDedicatedWorker(err)
}

// open opens a block once. With an error, too, it returns the toolset, whose
// session activity has ended or is asked to.
func open(ctx workflow.Context, settings *settings) (*Toolset, error) {
	ts := &Toolset{state: new(state), settings: settings}
	ts.block = queue.Operation{RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID, Key: drawKey(ctx)}
	ts.taskQueue = queue.Name(settings.Server, ts.block.RunID, ts.block.Key)
	ts.hosts = cmp.Or(settings.Session.TaskQueue, workflow.GetInfo(ctx).TaskQueueName)
	ts.closing, ts.settleClosing = workflow.NewFuture(ctx)

	// A cancelled block may still use its session to clean up, so the session does
	// not end with the block's context.
	sessionCtx, _ := workflow.NewDisconnectedContext(ctx)
	sessionCtx, ts.cancelSession = workflow.WithCancel(workflow.WithActivityOptions(sessionCtx, settings.Session))
	ts.session = workflow.ExecuteActivity(sessionCtx, queue.SessionActivity(settings.Server), queue.SessionInput{
		RunID: ts.block.RunID, Key: ts.block.Key, Argument: settings.argument,
	})
	if err := ts.awaitInfo(ctx); err != nil {
		ts.cancelSession()
		return ts, err
	}
	return ts, nil
}

// leftNothing reports whether the session activity was lost with its host before
// it had marked that a session may be open. Temporal does not retry that, as it
// can't tell it from the loss of an open session, which no retry mends; a new
// activity on another host may well open.
func (ts *Toolset) leftNothing(ctx workflow.Context) bool {
	if !ts.session.IsReady() {
		return false
	}
	var timeout *temporal.TimeoutError
	return errors.As(ts.session.Get(ctx, nil), &timeout) &&
		timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT && !mayHaveOpened(timeout)
}

// mayHaveOpened reports whether the attempt that a timeout ended may have had a
// session, by the marker that it left.
func mayHaveOpened(timeout *temporal.TimeoutError) bool {
	var marker heartbeat.Marker
	return timeout.HasLastHeartbeatDetails() &&
		(timeout.LastHeartbeatDetails(&marker) != nil || marker != heartbeat.Cleared)
}

// drawKey returns a block key that no other block of the run has.
func drawKey(ctx workflow.Context) string {
	var random [10]byte
	// The stream's Read never fails.
	_, _ = workflow.GetRandomStream(ctx, randomStream).Read(random[:])
	return strings.ToLower(base32.StdEncoding.EncodeToString(random[:]))
}

// awaitInfo asks the session what it is, and waits for the answer or for the
// session's end.
func (ts *Toolset) awaitInfo(ctx workflow.Context) error {
	call := ts.schedule(ctx, queue.OperationSessionInfo, queue.SessionInfo{Operation: ts.block}, workflow.ActivityOptions{
		StartToCloseTimeout: infoTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond,
			MaximumInterval: time.Second,
			// An answer over the payload limit stays over it.
			NonRetryableErrorTypes: []string{calls.PayloadSizeError, calls.ActivityNotRegistered},
		},
		Summary: calls.Summary(ts.settings.Server, queue.OperationSessionInfo, ""),
	})
	workflow.NewSelector(ctx).
		AddFuture(call.result, func(workflow.Future) {}).
		AddFuture(ts.session, func(workflow.Future) {}).
		Select(ctx)

	var info queue.Info
	switch {
	case call.result.IsReady():
		if err := call.result.Get(ctx, &info); temporal.IsCanceledError(err) {
			return err
		} else if err != nil {
			return ts.openFailure(err)
		}
	default:
		call.cancel()
		return ts.openFailure(ts.session.Get(ctx, nil))
	}
	ts.block.Instance = info.Instance
	ts.opened = failure.Details{Attempt: info.Attempt, Host: info.Host, OpenedAt: info.OpenedAt}
	ts.info = Info{
		Server:       ts.settings.Server,
		Instance:     info.Instance,
		TaskQueue:    ts.taskQueue,
		Host:         info.Host,
		HasSessionID: info.HasSessionID,
		Initialize:   info.Initialize,
	}
	return nil
}

// With opens a block, runs body with it, and closes it. It returns an error of
// Open, else body's error, else the error of Close; so a loss is told even if
// body did not notice. When body and Close both fail and body's error is not
// itself of the loss, the error is body's, and [CloseError] gives Close's, which is
// logged as well. Only an application error with details comes back without it.
//
// A body that panics leaves the block open: the workflow task fails, and its
// retry runs the body again on the same session. If the workflow fails for good,
// the session ends with the run.
func With(ctx workflow.Context, options Options, body func(ctx workflow.Context, ts *Toolset) error) error {
	ts, err := Open(ctx, options)
	if err != nil {
		return err
	}
	// Not deferred: the SDK runs defers when it evicts a workflow, too.
	err = body(ctx, ts)
	closeErr := ts.Close(ctx)
	if err != nil && closeErr != nil && !failure.IsDedicatedWorker(err) {
		workflow.GetLogger(ctx).Warn("mcpsession: closing a block after an error failed, too", "server", options.Server, "error", closeErr)
	}
	return both(err, closeErr)
}

// both returns body's error, with close's beside it if it says something new.
func both(body, close error) error {
	switch {
	case body == nil:
		return close
	case close == nil, failure.IsDedicatedWorker(body):
		return body
	}
	return withCloseError(body, close)
}
