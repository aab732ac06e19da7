package toolset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
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
	DefaultMaxArguments = calls.DefaultMaxArguments
)

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

	// ScriptTimeout bounds each script that the block runs, see [Toolset.Run], as
	// CallTimeout does each request of it; DefaultScriptTimeout when zero. The
	// start-to-close timeout of a script's activity is ScriptTimeout + 10 s, and never
	// Operation's, which is for calls; nor is its schedule-to-close timeout.
	ScriptTimeout time.Duration

	// Repeatable says of tools, by name, whether the request may be sent to the
	// server again, up to three times, when it has refused it for now (429, 503) or
	// the answer was lost on a session that lives on. It wins over what the server
	// says of its tools: without it that is so for tools that it annotates as
	// read-only or idempotent, once the block has listed them. Any other tool runs at
	// most once.
	Repeatable map[string]bool

	// ValidateArguments checks the arguments of each call against the tool's input
	// schema before they are sent, where the block has listed the tool: a call with
	// arguments that it doesn't allow fails with an error that wraps an
	// [*ArgumentError], and schedules nothing. Without it the server says what is
	// wrong.
	ValidateArguments bool

	// CacheResults names tools whose results the block keeps: a call with arguments
	// that were used before returns the same result, without an activity. Results
	// with IsError are not kept.
	CacheResults []string

	// CacheTools keeps the tool list in the block even if the server declares
	// that the list may change. It is read again after a call has told that it did.
	// Lists of servers that don't declare it are always kept.
	CacheTools bool

	// MaxArguments bounds the arguments of one call, in bytes of JSON;
	// DefaultMaxArguments when zero. Larger ones fail with an error here: the
	// server would fail the workflow task, again and again.
	MaxArguments int

	// MaxResult bounds the result of a call, and what a prompt or a resource comes
	// to, in bytes of JSON before any codec, below what a Temporal payload may have.
	// A larger one is ResultTooLarge: the tool ran, and history has no part of the
	// result. Zero is no bound of ours.
	MaxResult int
}

// Override returns the options in which each field of over that is not zero has
// won, and in maps each entry of over: options of one server that many blocks share,
// with what is different for this block. Options.Session and Operation are merged
// field by field, too; a RetryPolicy is one field.
func (o Options) Override(over Options) Options {
	common := o.common().Override(over.common())
	o.Operation, o.Tools, o.CallTimeout, o.ToolTimeouts = common.Operation, common.Tools, common.CallTimeout, common.ToolTimeouts
	o.MaxArguments, o.MaxResult = common.MaxArguments, common.MaxResult
	o.Session = calls.Merge(o.Session, over.Session)
	o.Server = cmp.Or(over.Server, o.Server)
	o.ScriptTimeout = cmp.Or(over.ScriptTimeout, o.ScriptTimeout)
	o.CacheTools = o.CacheTools || over.CacheTools
	o.ValidateArguments = o.ValidateArguments || over.ValidateArguments
	o.CacheResults = slices.Concat(o.CacheResults, over.CacheResults)
	o.Repeatable = calls.Overlay(o.Repeatable, over.Repeatable)
	if over.Argument != nil {
		o.Argument = over.Argument
	}
	return o
}

// common returns the options that every kind of operation has.
func (o Options) common() calls.Options {
	return calls.Options{
		Operation: o.Operation, Tools: o.Tools, CallTimeout: o.CallTimeout, ToolTimeouts: o.ToolTimeouts,
		MaxArguments: o.MaxArguments, MaxResult: o.MaxResult,
	}
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
	fault := func(err error) error { return fmt.Errorf("toolset: block of server %q: %w", o.Server, err) }
	if o.Session.ActivityID != "" {
		return nil, fault(fmt.Errorf("Options.Session.ActivityID is %q; leave it empty, the SDK gives each activity of a run its own", o.Session.ActivityID))
	}
	if err := o.common().Check(); err != nil {
		return nil, fault(err)
	}
	if o.ScriptTimeout < 0 {
		return nil, fault(fmt.Errorf("Options.ScriptTimeout is %v; use zero for %v", o.ScriptTimeout, DefaultScriptTimeout))
	}
	if err := calls.CheckActivity("Options.Session", o.Session); err != nil {
		return nil, fault(err)
	}
	if timeout := o.Session.HeartbeatTimeout; timeout != 0 && timeout < MinHeartbeatTimeout {
		return nil, fault(fmt.Errorf("Options.Session.HeartbeatTimeout is %v, too short to tell a slow heartbeat from a lost host; use %v or more",
			timeout, MinHeartbeatTimeout))
	}
	s := &settings{Options: o.Override(Options{})} // a copy
	s.CallTimeout = cmp.Or(s.CallTimeout, DefaultCallTimeout)
	s.ScriptTimeout = cmp.Or(s.ScriptTimeout, DefaultScriptTimeout)
	s.MaxArguments = cmp.Or(s.MaxArguments, DefaultMaxArguments)
	s.Session = calls.Merge(workflow.ActivityOptions{
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
	var err error
	if s.argument, err = calls.EncodeArgument("Options.Argument", o.Argument, s.MaxArguments); err != nil {
		return nil, fault(err)
	}
	return s, nil
}

// operationDefaults are the activity options of an operation that nobody has
// configured. It is retried to bring an outcome that was lost on its way.
func operationDefaults() workflow.ActivityOptions {
	return workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{
		InitialInterval: 100 * time.Millisecond,
		MaximumInterval: 5 * time.Second,
		// A worker that does not know an operation will not learn it.
		NonRetryableErrorTypes: []string{calls.ActivityNotRegistered},
	}}
}
