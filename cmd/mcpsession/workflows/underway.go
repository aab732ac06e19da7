package workflows

import (
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// UnderWay is an interceptor that counts the workflows that a worker runs, so that one
// which stops can let them take in how their sessions ended.
type UnderWay struct {
	interceptor.WorkerInterceptorBase
	count   atomic.Int64
	changed atomic.Int64 // when count did, in nanoseconds of Unix time
}

// None reports whether none has been under way for as long as d. One that has just
// ended may be run once more: the server refuses an end that missed something new.
func (u *UnderWay) None(d time.Duration) bool {
	return u.count.Load() == 0 && time.Since(time.Unix(0, u.changed.Load())) > d
}

func (u *UnderWay) add(n int64) {
	u.changed.Store(time.Now().UnixNano()) //workflowcheck:ignore
	u.count.Add(n)
}

// InterceptWorkflow counts the workflow. One that is evicted from the worker's cache
// counts no more.
func (u *UnderWay) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &counted{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}, in: u}
}

type counted struct {
	interceptor.WorkflowInboundInterceptorBase
	in *UnderWay
}

// ExecuteWorkflow runs the workflow.
func (c *counted) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	c.in.add(1)
	defer c.in.add(-1)
	return c.Next.ExecuteWorkflow(ctx, in)
}
