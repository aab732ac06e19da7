package toolset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// The defaults of [ScriptOptions], besides those of [Options].
const (
	// DefaultScriptTimeout bounds a script as a whole.
	DefaultScriptTimeout = queue.DefaultScriptTimeout
	// DefaultConnectTime is how long the session of a script may take to be opened
	// before the script's activity times out: that of session.Server.
	DefaultConnectTime = time.Minute
	// scriptMargin is what a script's activity gets beyond the script and the opening
	// of its session: the time to close that, and to tell.
	scriptMargin = 30 * time.Second
)

// ScriptOptions configure a script that runs on a session of its own. Server is
// required; everything else may be left zero.
type ScriptOptions struct {
	// Server is the name under which the worker knows the MCP server.
	Server string

	// Argument is passed to the server's connector, as JSON. It is recorded in the
	// workflow's history: pass a tenant's name, never a secret.
	Argument any

	// TaskQueue is where workers that know the server poll; the workflow's own by
	// default.
	TaskQueue string

	// Activity configures the script's activity. RetryPolicy says how opening the
	// session is tried again, DefaultOpenAttempts times in all by default; a script that
	// has begun is not. ScheduleToStartTimeout is DefaultScheduleToStartTimeout, and
	// HeartbeatTimeout, after which a lost worker is told, DefaultHeartbeatTimeout. A
	// StartToCloseTimeout must not be below Timeout; without one and without a
	// ScheduleToCloseTimeout it is Timeout + ConnectTimeout, or DefaultConnectTime,
	// + 30 s. TaskQueue and ActivityID are refused. The end of a cancelled script is
	// always waited for.
	Activity workflow.ActivityOptions

	// Timeout bounds the script as a whole, without the opening of its session;
	// DefaultScriptTimeout when zero. When it passes, the script's context ends, and
	// RunScript fails with a CallFailure.
	Timeout time.Duration

	// CallTimeout bounds each MCP request of the script; DefaultCallTimeout when zero.
	// When it passes, that request fails in the script, which may go on.
	CallTimeout time.Duration

	// ConnectTimeout bounds the opening of the session, its MCP handshake included, in
	// the place of session.Server.ConnectTimeout.
	ConnectTimeout time.Duration

	// Repeatable allows the script to run again, on another session, as often as
	// Activity.RetryPolicy says, when nobody knows how it ended, its worker was stopped,
	// or its session is lost. Its own errors are final all the same.
	Repeatable bool

	// MaxArguments bounds the script's input, in bytes of JSON; DefaultMaxArguments when
	// zero.
	MaxArguments int

	// MaxResult bounds the script's output, in bytes of JSON before any codec. A larger
	// one is ResultTooLarge: the script ran. Zero is no bound of ours.
	MaxResult int
}

// RunScript runs a script of the workers', one that session.RegisterScript has made
// known there, on a session of its own, which is opened for it and closed after it, in
// one activity. It returns the script's output as an Out. In is anything that encodes
// to JSON, or nil for the zero value.
//
// The session is one that keeps state between calls, as a block's. Only its opening is
// tried again: with an OpenFailure no script has begun. Once it has begun, a script is
// not begun again, whatever becomes of it or of its worker, unless
// ScriptOptions.Repeatable is set: then the error is a CallFailure, and failure.RanOf
// is unknown. It is not begun by a reset of the workflow or of its activity, either.
//
// Errors of the script itself are those of [Toolset.Run]. No error is a
// DedicatedWorkerFailure: there is no block that could be lost. A cancelled ctx ends
// the script's context, and gives a CanceledError once the script has ended.
func RunScript[Out any](ctx workflow.Context, options ScriptOptions, script string, in any) (Out, error) {
	var out Out
	raw, err := runScript(ctx, options, script, in)
	if err != nil {
		return out, err
	}
	if err := decodeScript(script, raw, &out); err != nil {
		return out, fmt.Errorf("toolset: server %q: %w", options.Server, err)
	}
	return out, nil
}

func runScript(ctx workflow.Context, o ScriptOptions, script string, in any) (result queue.Result[json.RawMessage], err error) {
	o, activity, err := o.resolve(script)
	if err != nil {
		return result, err
	}
	fault := func(err error) error { return fmt.Errorf("toolset: script on server %q: %w", o.Server, err) }
	input, err := encodeScript(script, in, o.MaxArguments)
	if err != nil {
		return result, fault(err)
	}
	argument, err := calls.EncodeArgument("ScriptOptions.Argument", o.Argument, o.MaxArguments)
	if err != nil {
		return result, fault(err)
	}
	if workflow.IsReadOnly(ctx) {
		return result, fault(errors.New("it can't be run in a query handler, an update validator or a side effect"))
	}
	run := queue.RunScript{
		Operation: queue.Operation{RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID, Timeout: o.CallTimeout, MaxResult: o.MaxResult},
		Script:    script, Input: input, ScriptTimeout: o.Timeout,
	}
	if o.Repeatable {
		run.MaxSends = calls.Sends(activity.RetryPolicy.MaximumAttempts)
	}
	own := calls.Own{Server: o.Server, Operation: queue.OperationRunScript, Tool: script, What: "script"}
	again := openings{most: activity.RetryPolicy.MaximumAttempts}
	for ctx.Err() == nil {
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, activity), queue.StatelessActivity(o.Server, queue.OperationRunScript),
			queue.Stateless[queue.RunScript]{Argument: argument, ConnectTimeout: o.ConnectTimeout, Operation: run}).Get(ctx, &result)
		if err == nil {
			return result, nil
		}
		lost := lostUnbegun(err)
		if err = own.Failure(err); !again.allow(lost, err) {
			return result, err
		}
	}
	return result, ctx.Err()
}

// lostUnbegun reports whether a script's worker was lost before the script began, by
// the word that it has left.
func lostUnbegun(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT && calls.Unbegun(timeout)
}

// resolve returns the options with their defaults, and those of the activity, or an
// error that names the field at fault.
func (o ScriptOptions) resolve(script string) (ScriptOptions, workflow.ActivityOptions, error) {
	var activity workflow.ActivityOptions
	if err := queue.ValidateServer(o.Server); err != nil {
		return o, activity, fmt.Errorf("toolset: ScriptOptions.Server: %w", err)
	}
	if err := o.check(); err != nil {
		return o, activity, fmt.Errorf("toolset: script on server %q: %w", o.Server, err)
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultScriptTimeout)
	o.CallTimeout = cmp.Or(o.CallTimeout, DefaultCallTimeout)
	o.MaxArguments = cmp.Or(o.MaxArguments, DefaultMaxArguments)
	activity = calls.Merge(workflow.ActivityOptions{
		TaskQueue:              o.TaskQueue,
		HeartbeatTimeout:       DefaultHeartbeatTimeout,
		ScheduleToStartTimeout: DefaultScheduleToStartTimeout,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: DefaultOpenAttempts},
		Summary:                scriptSummary(o.Server, script),
	}, o.Activity)
	if activity.StartToCloseTimeout == 0 && activity.ScheduleToCloseTimeout == 0 {
		activity.StartToCloseTimeout = o.Timeout + cmp.Or(o.ConnectTimeout, DefaultConnectTime) + scriptMargin
	}
	// The activity's end is what says that the script has ended.
	activity.WaitForCancellation = true
	policy := *activity.RetryPolicy
	policy.NonRetryableErrorTypes = append(slices.Clone(policy.NonRetryableErrorTypes), calls.ActivityNotRegistered)
	if !o.Repeatable {
		// What a lost worker has left says whether the script had begun. The retry could
		// say no more.
		policy.NonRetryableErrorTypes = append(policy.NonRetryableErrorTypes, "TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose")
	}
	activity.RetryPolicy = &policy
	return o, activity, nil
}

func (o ScriptOptions) check() error {
	const field = "ScriptOptions.Activity"
	switch timeout := cmp.Or(o.Timeout, DefaultScriptTimeout); {
	case o.Timeout < 0, o.CallTimeout < 0, o.ConnectTimeout < 0, o.MaxArguments < 0, o.MaxResult < 0:
		return fmt.Errorf("ScriptOptions.Timeout is %v, CallTimeout %v, ConnectTimeout %v, MaxArguments %d and MaxResult %d; use zero for the default",
			o.Timeout, o.CallTimeout, o.ConnectTimeout, o.MaxArguments, o.MaxResult)
	case o.Activity.ActivityID != "":
		return fmt.Errorf("%s.ActivityID is %q; leave it empty, the SDK gives each activity of a run its own", field, o.Activity.ActivityID)
	case o.Activity.TaskQueue != "":
		return fmt.Errorf("%s.TaskQueue is %q; set ScriptOptions.TaskQueue", field, o.Activity.TaskQueue)
	case o.Activity.StartToCloseTimeout != 0 && o.Activity.StartToCloseTimeout < timeout:
		return fmt.Errorf("%s.StartToCloseTimeout is %v, which is below the script's timeout of %v: set ScriptOptions.Timeout too",
			field, o.Activity.StartToCloseTimeout, timeout)
	case o.Activity.HeartbeatTimeout > 0 && o.Activity.HeartbeatTimeout < MinHeartbeatTimeout:
		return fmt.Errorf("%s.HeartbeatTimeout is %v, too short to tell a slow heartbeat from a lost worker; use %v or more",
			field, o.Activity.HeartbeatTimeout, MinHeartbeatTimeout)
	}
	return calls.CheckActivity(field, o.Activity)
}
