package toolset

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/queue"
)

// The defaults of [Options].
const (
	// DefaultCallTimeout bounds one MCP request.
	DefaultCallTimeout = queue.DefaultCallTimeout
	// DefaultHeartbeatTimeout is how long a lost host can stay unknown.
	DefaultHeartbeatTimeout = 30 * time.Second
	// MinHeartbeatTimeout is the least that a session may have.
	MinHeartbeatTimeout = time.Second
	// DefaultScheduleToStartTimeout is how long a block waits for a host.
	DefaultScheduleToStartTimeout = 2 * time.Minute
	// DefaultSessionTimeout is how long a session may last.
	DefaultSessionTimeout = 24 * time.Hour
	// DefaultOpenAttempts is how often opening a session is tried.
	DefaultOpenAttempts = 3
	// DefaultMaxArguments is how many bytes of JSON the arguments of one call may
	// have: the limit of a Temporal payload, 2 MiB by default, less some room for
	// the envelope and a codec.
	DefaultMaxArguments = 2<<20 - 64<<10
)

// startToCloseMargin is what an operation's activity gets beyond its CallTimeout,
// so that the request's own end is told before the activity's.
const startToCloseMargin = 10 * time.Second

// Options configure a block. Server is required; everything else may be left
// zero.
type Options struct {
	// Server is the name under which the worker knows the MCP server.
	Server string

	// Argument is passed to the server's connector, as JSON. It is recorded in the
	// workflow's history: pass a tenant's name, never a secret.
	Argument any

	// Session configures the session activity. Fields left zero have the defaults
	// above; its TaskQueue is where workers that hold sessions poll, the
	// workflow's own by default. HeartbeatTimeout is how soon a lost host is told,
	// and RetryPolicy how opening is retried, only while no attempt may have opened
	// a session: after MaximumAttempts attempts that failed, or as many hosts that
	// were lost before they had begun, Open gives up. ActivityID is refused: it would
	// have to be unique in the run.
	Session workflow.ActivityOptions

	// Operation configures the activities of the block's operations. A
	// StartToCloseTimeout must not be below CallTimeout; without one and without a
	// ScheduleToCloseTimeout it is CallTimeout + 10 s. Retries never call a tool
	// twice: they deliver an outcome that was lost on its way. TaskQueue and
	// ActivityID are refused.
	Operation workflow.ActivityOptions

	// Tools configures the calls of single tools, by tool name. A field that is
	// not zero wins over Operation's; RetryPolicy is one field.
	Tools map[string]workflow.ActivityOptions

	// CallTimeout bounds each MCP request; DefaultCallTimeout when zero. When it
	// passes, the request is cancelled, the call fails with a CallFailure, and the
	// session lives on.
	CallTimeout time.Duration

	// ToolTimeouts is CallTimeout for single tools, by tool name.
	ToolTimeouts map[string]time.Duration

	// CacheTools keeps the tool list in the block even if the server declares
	// that the list may change. It is read again after a call has told that it did.
	// Lists of servers that don't declare it are always kept.
	CacheTools bool

	// MaxArguments bounds the arguments of one call, in bytes of JSON;
	// DefaultMaxArguments when zero. Larger ones fail with an error here: the
	// server would fail the workflow task, again and again.
	MaxArguments int
}

// settings are options that were checked, with their defaults filled in.
type settings struct {
	Options
	argument json.RawMessage
}

// resolve returns the settings of a block, or an error that names the field at
// fault.
func (o Options) resolve() (*settings, error) {
	if err := queue.ValidateServer(o.Server); err != nil {
		return nil, fmt.Errorf("toolset: Options.Server: %w", err)
	}
	o.Tools, o.ToolTimeouts = maps.Clone(o.Tools), maps.Clone(o.ToolTimeouts)
	s := &settings{Options: o}
	fault := func(format string, args ...any) error {
		return fmt.Errorf("toolset: block of server %q: %w", o.Server, fmt.Errorf(format, args...))
	}
	if o.Session.ActivityID != "" {
		return nil, fault("Options.Session.ActivityID is %q; leave it empty, the SDK gives each activity of a run its own", o.Session.ActivityID)
	}
	if s.CallTimeout < 0 || s.MaxArguments < 0 {
		return nil, fault("Options.CallTimeout is %v and MaxArguments %d; use zero for the default", s.CallTimeout, s.MaxArguments)
	}
	if s.CallTimeout == 0 {
		s.CallTimeout = DefaultCallTimeout
	}
	if s.MaxArguments == 0 {
		s.MaxArguments = DefaultMaxArguments
	}
	if err := checkOperation("Options.Operation", o.Operation, s.CallTimeout); err != nil {
		return nil, fault("%w", err)
	}
	if err := checkActivity("Options.Session", o.Session); err != nil {
		return nil, fault("%w", err)
	}
	if timeout := o.Session.HeartbeatTimeout; timeout != 0 && timeout < MinHeartbeatTimeout {
		return nil, fault("Options.Session.HeartbeatTimeout is %v, too short to tell a slow heartbeat from a lost host; use %v or more",
			timeout, MinHeartbeatTimeout)
	}
	// What is wrong with a tool's options is told now, not at its first call.
	for _, tool := range workflow.DeterministicKeys(o.Tools) {
		if _, _, err := s.operation(queue.OperationCallTool, tool); err != nil {
			return nil, fmt.Errorf("toolset: block of server %q: Options.Tools: %w", o.Server, err)
		}
	}
	for _, tool := range workflow.DeterministicKeys(o.ToolTimeouts) {
		if _, _, err := s.operation(queue.OperationCallTool, tool); err != nil {
			return nil, fmt.Errorf("toolset: block of server %q: Options.ToolTimeouts: %w", o.Server, err)
		}
	}
	s.Session = merge(workflow.ActivityOptions{
		HeartbeatTimeout:       DefaultHeartbeatTimeout,
		ScheduleToStartTimeout: DefaultScheduleToStartTimeout,
		StartToCloseTimeout:    DefaultSessionTimeout,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: DefaultOpenAttempts},
		Summary:                o.Server + ": session",
	}, o.Session)
	// The activity's end is what says that the session is over.
	s.Session.WaitForCancellation = true
	// Once its host is lost, another attempt could only say so, if there is a host
	// for it at all. The SDK's own worker sessions name these types, too.
	policy := *s.Session.RetryPolicy
	policy.NonRetryableErrorTypes = append(slices.Clone(policy.NonRetryableErrorTypes), "TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose")
	s.Session.RetryPolicy = &policy
	if o.Argument != nil {
		argument, err := json.Marshal(o.Argument) //workflowcheck:ignore
		if err != nil {
			return nil, fault("encode Options.Argument (%T): %w", o.Argument, err)
		}
		if len(argument) > s.MaxArguments {
			return nil, fault("Options.Argument has %d bytes of JSON; at most %d are allowed", len(argument), s.MaxArguments)
		}
		s.argument = argument
	}
	return s, nil
}

// operation returns the activity options of one operation of the block and the
// bound of its request. The tool is empty for operations that are not calls.
func (s *settings) operation(operation queue.OperationName, tool string) (workflow.ActivityOptions, time.Duration, error) {
	timeout := s.CallTimeout
	options := merge(workflow.ActivityOptions{
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond,
			MaximumInterval: 5 * time.Second,
			// A worker that does not know an operation will not learn it.
			NonRetryableErrorTypes: []string{activityNotRegistered},
		},
		Summary: summary(s.Server, operation, tool),
	}, s.Operation)
	if tool != "" {
		if t, ok := s.ToolTimeouts[tool]; ok {
			timeout = t
		}
		options = merge(options, s.Tools[tool])
		if err := checkOperation("its options", options, timeout); err != nil {
			return options, 0, fmt.Errorf("tool %q: %w", clip(tool), err)
		}
	}
	if options.StartToCloseTimeout == 0 && options.ScheduleToCloseTimeout == 0 {
		options.StartToCloseTimeout = timeout + startToCloseMargin
	}
	return options, timeout, nil
}

func summary(server string, operation queue.OperationName, tool string) string {
	if tool != "" {
		return server + ": " + clip(tool)
	}
	return server + ": " + string(operation)
}

// clip keeps a summary within the server's limit of 400 bytes.
func clip(tool string) string {
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
	return checkActivity(field, options)
}

// merge returns base with each field of over that is not zero.
func merge(base, over workflow.ActivityOptions) workflow.ActivityOptions {
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
