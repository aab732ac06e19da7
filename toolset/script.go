package toolset

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// Run runs a script of the worker's, one that session.RegisterScript has made known
// there, on the block's session, with the state that calls before it have left, and
// which calls after it find. Its output is decoded into out, a pointer, or dropped if
// that is nil. In is anything that encodes to JSON, or nil for the zero value.
//
// The script runs at most once; to open another session for it is for the workflow,
// as it is for a call. Its time is Options.ScriptTimeout, which WithOptions can set.
//
// An application error that the script ends with is Run's error, with its type and
// details; so a call's failure that the script hands on is one of package failure. Any
// other error of it, and a panic, is of type failure.TypeScript, as is a name that the
// block's worker does not know. Other errors are those of [Toolset.CallTool]:
// DedicatedWorkerFailure when the session is lost meanwhile, where failure.RanOf tells
// whether the script began; CallFailure when its time is over; a CanceledError when ctx
// is cancelled, which ends the script's context.
func (ts *Toolset) Run(ctx workflow.Context, script string, in, out any) error {
	if err := ts.usable(ctx, script); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fault := func(err error) error { return fmt.Errorf("toolset: script on server %q: %w", ts.settings.Server, err) }
	input, err := encodeScript(script, in, ts.settings.MaxArguments)
	if err != nil {
		return fault(err)
	}
	if kind := reflect.ValueOf(out); out != nil && (kind.Kind() != reflect.Pointer || kind.IsNil()) {
		return fault(fmt.Errorf("the output of script %q can't be decoded into a %T; pass a pointer, or nil", script, out))
	}
	options, timeout, err := ts.scriptActivity(script)
	if err != nil {
		return fault(err)
	}
	op := ts.operation(timeout)
	op.MaxResult = ts.settings.MaxResult
	c := ts.schedule(ctx, queue.OperationRunScript, queue.RunScript{
		Operation: op, Script: script, Input: input, ScriptTimeout: ts.settings.ScriptTimeout,
	}, options)
	c.tool = script
	var result queue.Result[json.RawMessage]
	if err := ts.await(ctx, c, &result); err != nil {
		return err
	}
	ts.noteTools(result.ToolsChanged)
	if out == nil {
		return nil
	}
	if err := decodeScript(script, result, out); err != nil {
		return fault(err)
	}
	return nil
}

// scriptActivity returns the activity options of a script, and the bound of each of its
// requests.
func (ts *Toolset) scriptActivity(script string) (workflow.ActivityOptions, time.Duration, error) {
	base := operationDefaults()
	base.Summary = scriptSummary(ts.settings.Server, script)
	common, over := ts.settings.common(), ts.over
	for _, o := range []*calls.Options{&common, &over} {
		// They are for calls, which take less time. Attempts join a script that runs.
		o.Operation.StartToCloseTimeout, o.Operation.ScheduleToCloseTimeout = 0, 0
	}
	options, timeout, err := calls.Activity(ts.settings.Server, queue.OperationRunScript, "", base, common, over)
	options.StartToCloseTimeout = ts.settings.ScriptTimeout + calls.StartToCloseMargin
	return options, timeout, err
}

func scriptSummary(server, script string) string { return server + ": script " + script }

// encodeScript checks a script's name, and returns its input as JSON.
func encodeScript(script string, in any, most int) (json.RawMessage, error) {
	if err := queue.ValidateScript(script); err != nil {
		return nil, err
	}
	return calls.EncodeArgument(fmt.Sprintf("the input of script %q", script), in, most)
}

// decodeScript decodes a script's output.
func decodeScript(script string, result queue.Result[json.RawMessage], out any) error {
	if result.Value == nil {
		return nil // null
	}
	err := json.Unmarshal(*result.Value, out) //workflowcheck:ignore
	if err != nil {
		return fmt.Errorf("script %q ran, and its output is no %T: %w", script, out, err)
	}
	return nil
}
