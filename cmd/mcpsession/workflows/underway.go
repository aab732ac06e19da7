package workflows

import (
	"sync/atomic"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// UnderWay is an interceptor that counts the workflows that a worker runs, so that one
// which stops can let them take in how their sessions ended.
type UnderWay struct {
	interceptor.WorkerInterceptorBase
	count atomic.Int64
}

// Count returns how many workflows the worker has begun and not ended.
func (u *UnderWay) Count() int64 { return u.count.Load() }

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
	c.in.count.Add(1)
	defer c.in.count.Add(-1)
	return c.Next.ExecuteWorkflow(ctx, in)
}
