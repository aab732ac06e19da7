package replaytests

import (
	"cmp"
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A wish is what the code has asked for in a replay, as the event that the server
// would have written for it, and the workflow task that it was asked for in.
type wish struct {
	task  int64 // the id of its WorkflowTaskStarted
	event *historypb.HistoryEvent
	// settled says that it may never have been sent.
	settled bool
	// err is what the workflow ended with, if that is what the event is about.
	err error
}

// A trace collects the wishes of one replay. It sees activities, timers, child
// workflows and the workflow's end; not cancels, markers and what is rare, of which
// the SDK compares the order.
//
// It is a plugin, and the last one, to put its interceptor before all others: the
// first is the last that a call to the server passes through, so that it sees what the
// others have made of options and inputs.
type trace struct {
	worker.PluginBase
	dataConverter converter.DataConverter
	wishes        []wish
}

func (t *trace) Name() string { return "github.com/mcpsession/mcpsession/replaytests" }

// ConfigureWorkflowReplayer adds the interceptor, and takes note of the data converter
// that the plugins before have settled on.
func (t *trace) ConfigureWorkflowReplayer(_ context.Context, options worker.PluginConfigureWorkflowReplayerOptions) error {
	o := options.WorkflowReplayerOptions
	if t.dataConverter = o.DataConverter; t.dataConverter == nil {
		t.dataConverter = converter.GetDefaultDataConverter()
	}
	o.Interceptors = append([]interceptor.WorkerInterceptor{&tracer{trace: t}}, o.Interceptors...)
	return nil
}

func (t *trace) add(ctx workflow.Context, event *historypb.HistoryEvent) {
	task := int64(workflow.GetInfo(ctx).GetCurrentHistoryLength())
	t.wishes = append(t.wishes, wish{task: task, event: event})
}

// note takes note of the last wish's future. It is settled at once when the SDK has
// refused the wish, or when the context was cancelled.
func (t *trace) note(future workflow.Future) {
	t.wishes[len(t.wishes)-1].settled = future.IsReady()
}

// encode returns arguments as they go to the server. What can't be encoded is nothing
// that was ever scheduled.
func (t *trace) encode(args []any) *commonpb.Payloads {
	payloads, err := t.dataConverter.ToPayloads(args...)
	if err != nil {
		return nil
	}
	return payloads
}

type tracer struct {
	interceptor.WorkerInterceptorBase
	trace *trace
}

func (t *tracer) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &inbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, t.trace}
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	trace *trace
}

func (i *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&outbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, i.trace})
}

func (i *inbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := i.Next.ExecuteWorkflow(ctx, in)
	// Not deferred: the SDK runs defers of workflows that are still open, too.
	eventType := enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED
	switch {
	case workflow.IsContinueAsNewError(err):
		eventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
	case temporal.IsCanceledError(err) && ctx.Err() != nil:
		eventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED
	case err != nil:
		eventType = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED
	}
	i.trace.add(ctx, &historypb.HistoryEvent{EventType: eventType})
	i.trace.wishes[len(i.trace.wishes)-1].err = err
	return result, err
}

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	trace *trace
}

func (o *outbound) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	options := workflow.GetActivityOptions(ctx)
	o.trace.add(ctx, &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
		Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId:   options.ActivityID,
				ActivityType: &commonpb.ActivityType{Name: activityType},
				TaskQueue:    &taskqueuepb.TaskQueue{Name: cmp.Or(options.TaskQueue, workflow.GetInfo(ctx).TaskQueueName)},
				Input:        o.trace.encode(args),
				// What is not set here the server fills in so.
				ScheduleToCloseTimeout: durationpb.New(options.ScheduleToCloseTimeout),
				ScheduleToStartTimeout: durationpb.New(cmp.Or(options.ScheduleToStartTimeout, options.ScheduleToCloseTimeout)),
				StartToCloseTimeout:    durationpb.New(cmp.Or(options.StartToCloseTimeout, options.ScheduleToCloseTimeout)),
				HeartbeatTimeout:       durationpb.New(options.HeartbeatTimeout),
				RetryPolicy:            filledIn(options.RetryPolicy),
			},
		},
	})
	future := o.Next.ExecuteActivity(ctx, activityType, args...)
	o.trace.note(future)
	return future
}

// filledIn returns a retry policy with the server's defaults.
func filledIn(p *temporal.RetryPolicy) *commonpb.RetryPolicy {
	if p == nil {
		p = &temporal.RetryPolicy{}
	}
	initial := cmp.Or(p.InitialInterval, time.Second)
	return &commonpb.RetryPolicy{
		InitialInterval: durationpb.New(initial), BackoffCoefficient: cmp.Or(p.BackoffCoefficient, 2),
		MaximumInterval: durationpb.New(cmp.Or(p.MaximumInterval, 100*initial)), MaximumAttempts: p.MaximumAttempts,
		NonRetryableErrorTypes: p.NonRetryableErrorTypes,
	}
}

func (o *outbound) NewTimer(ctx workflow.Context, d time.Duration) workflow.Future {
	future := o.Next.NewTimer(ctx, d)
	o.timer(ctx, d, future)
	return future
}

func (o *outbound) NewTimerWithOptions(ctx workflow.Context, d time.Duration, options workflow.TimerOptions) workflow.Future {
	future := o.Next.NewTimerWithOptions(ctx, d, options)
	o.timer(ctx, d, future)
	return future
}

func (o *outbound) timer(ctx workflow.Context, d time.Duration, future workflow.Future) {
	if d <= 0 {
		return // fires at once, without an event
	}
	o.trace.add(ctx, &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_TIMER_STARTED,
		Attributes: &historypb.HistoryEvent_TimerStartedEventAttributes{
			TimerStartedEventAttributes: &historypb.TimerStartedEventAttributes{StartToFireTimeout: durationpb.New(d)},
		},
	})
	o.trace.note(future)
}

func (o *outbound) ExecuteChildWorkflow(ctx workflow.Context, workflowType string, args ...any) workflow.ChildWorkflowFuture {
	options := workflow.GetChildWorkflowOptions(ctx)
	o.trace.add(ctx, &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
		Attributes: &historypb.HistoryEvent_StartChildWorkflowExecutionInitiatedEventAttributes{
			StartChildWorkflowExecutionInitiatedEventAttributes: &historypb.StartChildWorkflowExecutionInitiatedEventAttributes{
				WorkflowType: &commonpb.WorkflowType{Name: workflowType},
				TaskQueue:    &taskqueuepb.TaskQueue{Name: cmp.Or(options.TaskQueue, workflow.GetInfo(ctx).TaskQueueName)},
				Input:        o.trace.encode(args),
			},
		},
	})
	future := o.Next.ExecuteChildWorkflow(ctx, workflowType, args...)
	o.trace.note(future)
	return future
}
