package stateless

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// activity returns the activity options of an operation, and what it carries. The
// tool is empty for operations that are not calls.
func (c *Client) activity(ctx workflow.Context, name queue.OperationName, tool string) (workflow.ActivityOptions, queue.Operation, error) {
	base := workflow.ActivityOptions{
		TaskQueue:        c.settings.TaskQueue,
		HeartbeatTimeout: DefaultHeartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, MaximumInterval: 10 * time.Second, MaximumAttempts: DefaultAttempts,
		},
	}
	// The check of the common options knows of no task queue that is not ours.
	queueOfHosts := base.TaskQueue
	base.TaskQueue = ""
	options, timeout, err := calls.Activity(c.settings.Server, name, tool, base, c.settings.common())
	if err != nil {
		return options, queue.Operation{}, fmt.Errorf("stateless: server %q: %w", c.settings.Server, err)
	}
	options.TaskQueue = queueOfHosts
	if !c.setsTimeout(tool) {
		options.StartToCloseTimeout += cmp.Or(c.settings.ConnectTimeout, DefaultConnectTime)
	}
	op := queue.Operation{RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID, Timeout: timeout}
	policy := *options.RetryPolicy
	// A worker that does not know an operation will not learn it.
	policy.NonRetryableErrorTypes = append(slices.Clone(policy.NonRetryableErrorTypes), calls.ActivityNotRegistered)
	if name != queue.OperationCallTool || c.repeatable(tool) {
		op.MaxSends = calls.Sends(policy.MaximumAttempts)
	} else {
		// Of an attempt that leaves no word nobody knows whether it made the call.
		policy.NonRetryableErrorTypes = append(policy.NonRetryableErrorTypes, "TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose")
	}
	options.RetryPolicy = &policy
	return options, op, nil
}

// setsTimeout reports whether the caller has said how long the activity may take.
func (c *Client) setsTimeout(tool string) bool {
	for _, o := range []workflow.ActivityOptions{c.settings.Operation, c.settings.Tools[tool]} {
		if o.StartToCloseTimeout != 0 || o.ScheduleToCloseTimeout != 0 {
			return true
		}
	}
	return false
}

// repeatable reports whether a call of the tool may be made again when its answer
// was lost.
func (c *Client) repeatable(tool string) bool {
	if repeatable, said := c.settings.Repeatable[tool]; said {
		return repeatable
	}
	if c.settings.Tools[tool].RetryPolicy != nil {
		return true
	}
	return c.listed != nil && slices.ContainsFunc(c.listed.Tools, func(t *mcp.Tool) bool {
		return t.Name == tool && calls.Safe(t)
	})
}
