// Package calls is what the callers of tools share: how the options of one operation
// come about on the workflow side, for stateful and stateless ones, and on both sides
// how arguments are encoded and results decoded.
package calls

import (
	"fmt"
	"maps"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/queue"
)

// StartToCloseMargin is what an operation's activity gets beyond its CallTimeout, so
// that the request's own end is told before the activity's.
const StartToCloseMargin = 10 * time.Second

// DefaultMaxArguments is how many bytes of JSON the arguments of one call may have
// when the options name no bound.
const DefaultMaxArguments = 2<<20 - 64<<10

// Options are those that packages toolset and stateless have in common; their
// comments are there.
type Options struct {
	Operation    workflow.ActivityOptions
	Tools        map[string]workflow.ActivityOptions
	CallTimeout  time.Duration
	ToolTimeouts map[string]time.Duration
	MaxArguments int
	MaxResult    int
}

// Clone returns options whose maps nobody else has.
func (o Options) Clone() Options {
	o.Tools, o.ToolTimeouts = maps.Clone(o.Tools), maps.Clone(o.ToolTimeouts)
	return o
}

// Override returns options in which a field of over wins if it is not zero, and in
// maps an entry of over's.
func (o Options) Override(over Options) Options {
	o = o.Clone()
	o.Operation = Merge(o.Operation, over.Operation)
	if o.Tools == nil && over.Tools != nil {
		o.Tools = make(map[string]workflow.ActivityOptions)
	}
	for _, tool := range workflow.DeterministicKeys(over.Tools) {
		o.Tools[tool] = Merge(o.Tools[tool], over.Tools[tool])
	}
	o.ToolTimeouts = Overlay(o.ToolTimeouts, over.ToolTimeouts)
	set(&o.CallTimeout, over.CallTimeout)
	set(&o.MaxArguments, over.MaxArguments)
	set(&o.MaxResult, over.MaxResult)
	return o
}

// Overlay returns the entries of base and of over, of which over's win, in a map
// that nobody else has.
func Overlay[V any](base, over map[string]V) map[string]V {
	both := maps.Clone(base)
	if both == nil && over != nil {
		both = make(map[string]V)
	}
	for _, key := range workflow.DeterministicKeys(over) {
		both[key] = over[key]
	}
	return both
}

// Check returns an error that names the field at fault.
func (o Options) Check() error {
	if o.CallTimeout < 0 || o.MaxArguments < 0 || o.MaxResult < 0 {
		return fmt.Errorf("Options.CallTimeout is %v, MaxArguments %d and MaxResult %d; use zero for the default",
			o.CallTimeout, o.MaxArguments, o.MaxResult)
	}
	timeout := o.CallTimeout
	if timeout == 0 {
		timeout = queue.DefaultCallTimeout
	}
	if err := checkOperation("Options.Operation", o.Operation, timeout); err != nil {
		return err
	}
	// What is wrong with a tool's options is told now, not at its first call.
	for _, tool := range workflow.DeterministicKeys(o.Tools) {
		if _, _, err := Activity("", queue.OperationCallTool, tool, workflow.ActivityOptions{}, o); err != nil {
			return fmt.Errorf("Options.Tools: %w", err)
		}
	}
	for _, tool := range workflow.DeterministicKeys(o.ToolTimeouts) {
		if _, _, err := Activity("", queue.OperationCallTool, tool, workflow.ActivityOptions{}, o); err != nil {
			return fmt.Errorf("Options.ToolTimeouts: %w", err)
		}
	}
	return nil
}

// Activity returns the activity options of one operation and the bound of its
// request. The tool is empty for operations that are not calls. Each layer of
// options wins over base and the layers before it, and in a layer what is for the
// tool wins over what is for all.
func Activity(server string, operation queue.OperationName, tool string, base workflow.ActivityOptions,
	layers ...Options) (workflow.ActivityOptions, time.Duration, error) {
	timeout := queue.DefaultCallTimeout
	options := base
	if options.Summary == "" {
		options.Summary = Summary(server, operation, tool)
	}
	for _, layer := range layers {
		set(&timeout, layer.CallTimeout)
		options = Merge(options, layer.Operation)
		if tool == "" {
			continue
		}
		if t, ok := layer.ToolTimeouts[tool]; ok {
			timeout = t
		}
		options = Merge(options, layer.Tools[tool])
	}
	if err := checkOperation("its options", options, timeout); err != nil {
		if tool != "" {
			err = fmt.Errorf("tool %q: %w", Clip(tool), err)
		}
		return options, 0, err
	}
	if options.StartToCloseTimeout == 0 && options.ScheduleToCloseTimeout == 0 {
		options.StartToCloseTimeout = timeout + StartToCloseMargin
	}
	return options, timeout, nil
}

// Summary is what the server shows of an operation.
func Summary(server string, operation queue.OperationName, tool string) string {
	if tool != "" {
		return server + ": " + Clip(tool)
	}
	return server + ": " + string(operation)
}

// Clip keeps a summary within the server's limit of 400 bytes.
func Clip(tool string) string {
	const most = 300
	if len(tool) > most {
		return tool[:most]
	}
	return tool
}

func checkOperation(field string, options workflow.ActivityOptions, timeout time.Duration) error {
	switch {
	case options.ActivityID != "":
		return fmt.Errorf("%s set ActivityID to %q; leave it empty, retries are recognised by the SDK's own", field, options.ActivityID)
	case options.TaskQueue != "":
		return fmt.Errorf("%s set TaskQueue to %q; leave it empty, a block has a task queue of its own (Session.TaskQueue says where hosts poll)", field, options.TaskQueue)
	case timeout <= 0:
		return fmt.Errorf("the call timeout is %v; it must be more than zero", timeout)
	case options.StartToCloseTimeout != 0 && options.StartToCloseTimeout < timeout:
		return fmt.Errorf("%s set StartToCloseTimeout to %v, which is below the call timeout of %v: set CallTimeout or ToolTimeouts too",
			field, options.StartToCloseTimeout, timeout)
	}
	return CheckActivity(field, options)
}

// CheckActivity returns an error that names the field when the server would refuse
// the options, which fails the workflow task again and again.
func CheckActivity(field string, options workflow.ActivityOptions) error {
	if err := checkPolicy(options.RetryPolicy); err != nil {
		return fmt.Errorf("%s set RetryPolicy.%w", field, err)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"ScheduleToCloseTimeout", options.ScheduleToCloseTimeout},
		{"ScheduleToStartTimeout", options.ScheduleToStartTimeout},
		{"StartToCloseTimeout", options.StartToCloseTimeout},
		{"HeartbeatTimeout", options.HeartbeatTimeout},
	} {
		if d.value < 0 {
			return fmt.Errorf("%s set %s to %v; use zero for the default", field, d.name, d.value)
		}
	}
	return nil
}

func checkPolicy(policy *temporal.RetryPolicy) error {
	switch {
	case policy == nil:
		return nil
	case policy.InitialInterval < 0:
		return fmt.Errorf("InitialInterval to %v; use zero for the default", policy.InitialInterval)
	case policy.MaximumInterval < 0:
		return fmt.Errorf("MaximumInterval to %v; use zero for the default", policy.MaximumInterval)
	case policy.MaximumAttempts < 0:
		return fmt.Errorf("MaximumAttempts to %d; use zero for no limit", policy.MaximumAttempts)
	case policy.BackoffCoefficient != 0 && policy.BackoffCoefficient < 1:
		return fmt.Errorf("BackoffCoefficient to %v; it must be 1 or more, or zero for the default", policy.BackoffCoefficient)
	case policy.MaximumInterval > 0 && policy.MaximumInterval < policy.InitialInterval:
		return fmt.Errorf("MaximumInterval to %v, which is below the InitialInterval of %v", policy.MaximumInterval, policy.InitialInterval)
	}
	return nil
}

// Merge returns base with each field of over that is not zero.
func Merge(base, over workflow.ActivityOptions) workflow.ActivityOptions {
	set(&base.TaskQueue, over.TaskQueue)
	set(&base.ScheduleToCloseTimeout, over.ScheduleToCloseTimeout)
	set(&base.ScheduleToStartTimeout, over.ScheduleToStartTimeout)
	set(&base.StartToCloseTimeout, over.StartToCloseTimeout)
	set(&base.HeartbeatTimeout, over.HeartbeatTimeout)
	set(&base.WaitForCancellation, over.WaitForCancellation)
	set(&base.ActivityID, over.ActivityID)
	set(&base.RetryPolicy, over.RetryPolicy)
	set(&base.DisableEagerExecution, over.DisableEagerExecution)
	//lint:ignore SA1019 users may set what the Temporal SDK deprecates and still supports
	set(&base.VersioningIntent, over.VersioningIntent)
	set(&base.Summary, over.Summary)
	set(&base.Priority, over.Priority)
	if over.EventGroups != nil {
		base.EventGroups = over.EventGroups
	}
	return base
}

func set[T comparable](field *T, value T) {
	var zero T
	if value != zero {
		*field = value
	}
}
