package stateless

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// The defaults of [Options].
const (
	// DefaultCallTimeout bounds one MCP request.
	DefaultCallTimeout = queue.DefaultCallTimeout
	// DefaultConnectTime is how long the connection of a call may take to be opened
	// before the call's activity times out: that of session.Server.
	DefaultConnectTime = time.Minute
	// DefaultHeartbeatTimeout is how long a lost worker can stay unknown.
	DefaultHeartbeatTimeout = 30 * time.Second
	// MinHeartbeatTimeout is the least that an operation may have.
	MinHeartbeatTimeout = time.Second
	// DefaultAttempts is how often an operation is tried, where it may be tried again.
	DefaultAttempts = 5
	// DefaultMaxArguments is how many bytes of JSON the arguments of one call may have.
	DefaultMaxArguments = calls.DefaultMaxArguments
)

// Options configure a client. Server is required; everything else may be left zero.
type Options struct {
	// Server is the name under which the workers know the MCP server.
	Server string

	// Argument is passed to the server's connector, as JSON. It is recorded in the
	// workflow's history: pass a tenant's name, never a secret. With one, each call
	// has a connection of its own.
	Argument any

	// TaskQueue is where workers that know the server poll; the workflow's own by
	// default.
	TaskQueue string

	// Operation configures the activities of all operations. A StartToCloseTimeout
	// must not be below CallTimeout; without one and without a ScheduleToCloseTimeout
	// it is CallTimeout + ConnectTimeout, or DefaultConnectTime, + 10 s. HeartbeatTimeout, after which a
	// lost worker is told, is DefaultHeartbeatTimeout. RetryPolicy says how soon and how
	// often an operation is tried again where that is safe; it allows no tool to run
	// twice. Without a ScheduleToStartTimeout a call waits for a worker for as long as
	// it takes. TaskQueue and ActivityID are refused.
	Operation workflow.ActivityOptions

	// Tools configures the calls of single tools, by tool name. A field that is not
	// zero wins over Operation's. A RetryPolicy here is for this very tool, and allows
	// the tool to run as often as it has attempts: set MaximumAttempts to 1, or
	// Repeatable to false, for a tool that must not.
	Tools map[string]workflow.ActivityOptions

	// Repeatable says of tools, by name, whether a call may be made again when its
	// answer was lost. It wins over RetryPolicy in Tools, and both win over what the
	// server says of its tools: without them that is so for tools that it annotates as
	// read-only or idempotent, once the client has listed them.
	Repeatable map[string]bool

	// CallTimeout bounds each MCP request; DefaultCallTimeout when zero. When it
	// passes, the request is cancelled on the server, and the call fails with a
	// CallFailure, before its activity times out.
	CallTimeout time.Duration

	// ToolTimeouts is CallTimeout for single tools, by tool name.
	ToolTimeouts map[string]time.Duration

	// ConnectTimeout bounds the opening of a call's own connection, its MCP handshake
	// included, in the place of session.Server.ConnectTimeout: it may be shorter or
	// longer. For a connection that is shared it bounds how long a call waits for it.
	// When it passes, no tool ran, and the call is tried again; see DefaultAttempts.
	ConnectTimeout time.Duration

	// PerCall gives each call a connection of its own, which is opened for it and
	// closed after it, whatever the server's version of MCP is.
	PerCall bool

	// UncachedTools makes each ListTools an activity of its own. Without it a client
	// asks once. A worker may still answer with a list of which the server has said that
	// it is good for a while.
	UncachedTools bool

	// MaxArguments bounds the arguments of one call, in bytes of JSON;
	// DefaultMaxArguments when zero. Larger ones fail with an error here: the server
	// would fail the workflow task, again and again.
	MaxArguments int

	// MaxResult bounds the result of a call, and what a prompt or a resource comes to,
	// in bytes of JSON before any codec, below what a Temporal payload may have. A
	// larger one is ResultTooLarge: the tool ran, and history has no part of the
	// result. Zero is no bound of ours.
	MaxResult int
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

// resolve returns the settings of a client, or an error that names the field at
// fault.
func (o Options) resolve() (*settings, error) {
	if err := queue.ValidateServer(o.Server); err != nil {
		return nil, fmt.Errorf("stateless: Options.Server: %w", err)
	}
	fault := func(err error) error { return fmt.Errorf("stateless: client of server %q: %w", o.Server, err) }
	if o.ConnectTimeout < 0 {
		return nil, fault(fmt.Errorf("Options.ConnectTimeout is %v; use zero for the server's own", o.ConnectTimeout))
	}
	if err := checkOwn("Options.Operation", o.Operation); err != nil {
		return nil, fault(err)
	}
	for _, tool := range workflow.DeterministicKeys(o.Tools) {
		if err := checkOwn(fmt.Sprintf("Options.Tools[%q]", calls.Clip(tool)), o.Tools[tool]); err != nil {
			return nil, fault(err)
		}
	}
	common := o.common()
	if err := common.Check(); err != nil {
		return nil, fault(err)
	}
	s := &settings{Options: o}
	common = common.Clone()
	s.Tools, s.ToolTimeouts, s.Repeatable = common.Tools, common.ToolTimeouts, maps.Clone(o.Repeatable)
	s.MaxArguments = cmp.Or(s.MaxArguments, DefaultMaxArguments)
	var err error
	if s.argument, err = calls.EncodeArgument("Options.Argument", o.Argument, s.MaxArguments); err != nil {
		return nil, fault(err)
	}
	return s, nil
}

// checkOwn is what options may not be here, whatever they may be in package toolset.
func checkOwn(field string, options workflow.ActivityOptions) error {
	if options.TaskQueue != "" {
		return errors.New(field + ".TaskQueue is set; set Options.TaskQueue, which is for all operations")
	}
	if timeout := options.HeartbeatTimeout; timeout > 0 && timeout < MinHeartbeatTimeout {
		return fmt.Errorf("%s.HeartbeatTimeout is %v, too short to tell a slow heartbeat from a lost worker; use %v or more",
			field, timeout, MinHeartbeatTimeout)
	}
	return nil
}
