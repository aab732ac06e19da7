package session

import (
	"fmt"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/toolset"
)

// A situation is what a workflow task of a block finds. What package toolset makes
// of it is found out by toolset itself, which the SDK runs on a history that is
// made for the situation: nothing of it is modelled.
type situation struct {
	stage   moment
	info    outcomeID // of session-info; opening
	call    outcomeID // of the call that is pending; calling
	close   outcomeID // of close-session; closing
	session outcomeID // of the session activity
	lostBy  outcomeID // of an earlier call that said that the session is lost
	later   bool      // the session's end comes in a task after close-session's
}

type moment int8

const (
	atOpen    moment = iota // Open waits
	inCall                  // a call is pending
	inClose                 // a call is pending, and Close is called
	beforeUse               // a call is about to be made
	atClose                 // Close is called, and waits
)

// A telling is what toolset told its caller.
type telling struct {
	waits    bool // nothing yet
	instance bool // Open has the session
	anew     bool // Open schedules another session activity
	out      outcomeID
}

// tell replays a workflow up to the situation.
func (w *world) tell(q situation) telling {
	got := telling{waits: true}
	returned := func(err error) {
		got.waits = false
		got.out = completed
		if err != nil {
			got.out = w.failed(err)
		}
	}
	// A busy machine takes longer than the second that the SDK allows.
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
	if err != nil {
		panic(err)
	}
	replayer.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ts, err := toolset.Open(ctx, toolset.Options{Server: modelServer})
		if q.stage == atOpen {
			got.instance = err == nil
			returned(err)
			return err
		}
		if err != nil {
			panic(err) // the history is wrong
		}
		if q.lostBy != pending {
			_, _ = ts.CallTool(ctx, modelTool, nil)
		}
		workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
		switch q.stage {
		case inCall, beforeUse:
			_, err = ts.CallTool(ctx, modelTool, nil)
		case inClose:
			call := ts.CallToolAsync(ctx, modelTool, nil)
			workflow.Go(ctx, func(ctx workflow.Context) { _ = ts.Close(ctx) })
			err = call.Get(ctx, nil)
		case atClose:
			err = ts.Close(ctx)
		}
		returned(err)
		return nil
	}, workflow.RegisterOptions{Name: "model"})
	h := w.history(q)
	// Up to its last task the history must be what toolset does.
	if err := replayer.ReplayWorkflowHistory(quiet{}, &historypb.History{Events: h.events}); err != nil {
		panic(fmt.Sprintf("%+v: %v", q, err))
	}
	// The SDK runs a task only if it was completed. What the workflow does in it is
	// not in the history, of which it complains once it has run.
	h.completed()
	if err := replayer.ReplayWorkflowHistory(quiet{}, &historypb.History{Events: h.events}); err != nil && !strings.Contains(err.Error(), "TMPRL1100") {
		panic(fmt.Sprintf("%+v: %v", q, err))
	}
	got.anew = q.stage == atOpen && got.waits
	return got
}

// A scripted is a history in the making.
type scripted struct {
	*world
	events []*historypb.HistoryEvent
}

func (w *world) history(q situation) *scripted {
	h := &scripted{world: w}
	h.add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
			WorkflowType: &commonpb.WorkflowType{Name: "model"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "model"}, OriginalExecutionRunId: runIDs[0],
		}}})
	h.task()
	session := h.schedule(queue.SessionActivity(modelServer))
	info := h.schedule(queue.OperationActivity(modelServer, queue.OperationSessionInfo))
	if q.stage == atOpen {
		h.settle(session, q.session, nil)
		h.settle(info, q.info, queue.Info{Instance: "instance"})
		return h.last()
	}
	h.settle(info, completed, queue.Info{Instance: "instance"})
	h.task()
	if q.lostBy != pending {
		call := h.schedule(queue.OperationActivity(modelServer, queue.OperationCallTool))
		h.settle(call, q.lostBy, nil)
		h.task()
	}
	if q.stage == beforeUse {
		h.settle(session, q.session, nil)
	}
	if q.stage == atClose && q.close == pending && !q.later {
		h.settle(session, q.session, nil)
	}
	h.signal("go")
	if q.stage == beforeUse || q.stage == inClose || q.stage == atClose && q.close == pending && !q.later && q.session != pending {
		return h.last()
	}
	h.task()
	switch {
	case q.stage == inCall:
		call := h.schedule(queue.OperationActivity(modelServer, queue.OperationCallTool))
		h.settle(session, q.session, nil)
		h.settle(call, q.call, map[string]any{"value": map[string]any{}})
		return h.last()
	case q.lostBy != pending:
		h.cancel(session)
		h.settle(session, q.session, nil)
		return h.last()
	}
	closing := h.schedule(queue.OperationActivity(modelServer, queue.OperationCloseSession))
	h.settle(closing, q.close, queue.Closed{})
	if q.later && q.close != pending {
		h.task()
		h.cancel(session)
	}
	h.settle(session, q.session, nil)
	return h.last()
}

func (h *scripted) add(t enumspb.EventType, e *historypb.HistoryEvent) int64 {
	e.EventId, e.EventType = int64(len(h.events)+1), t
	h.events = append(h.events, e)
	return e.EventId
}

// task ends a workflow task that has seen all events so far.
func (h *scripted) task() {
	h.last()
	h.completed()
}

func (h *scripted) completed() {
	h.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{
		WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{ScheduledEventId: int64(len(h.events) - 1), StartedEventId: int64(len(h.events))},
	}})
}

// last begins the workflow task that is asked about.
func (h *scripted) last() *scripted {
	id := h.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowTaskScheduledEventAttributes{
		WorkflowTaskScheduledEventAttributes: &historypb.WorkflowTaskScheduledEventAttributes{TaskQueue: &taskqueuepb.TaskQueue{Name: "model"}},
	}})
	h.add(enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowTaskStartedEventAttributes{
		WorkflowTaskStartedEventAttributes: &historypb.WorkflowTaskStartedEventAttributes{ScheduledEventId: id},
	}})
	return h
}

func (h *scripted) schedule(activity string) int64 {
	return h.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
		ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
			ActivityId: fmt.Sprint(len(h.events) + 1), ActivityType: &commonpb.ActivityType{Name: activity},
		}}})
}

func (h *scripted) cancel(scheduled int64) {
	h.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskCancelRequestedEventAttributes{
		ActivityTaskCancelRequestedEventAttributes: &historypb.ActivityTaskCancelRequestedEventAttributes{ScheduledEventId: scheduled},
	}})
}

func (h *scripted) signal(name string) {
	h.add(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
		WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: name},
	}})
}

// settle ends an activity with an outcome; pending is none.
func (h *scripted) settle(scheduled int64, id outcomeID, result any) {
	if id == pending {
		return
	}
	started := h.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
		ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: scheduled, Attempt: 1},
	}})
	o := h.outcomes[id]
	switch {
	case id == completed:
		payloads, _ := converter.GetDefaultDataConverter().ToPayloads(result)
		h.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: scheduled, StartedEventId: started, Result: payloads},
		}})
	case id == canceledOutcome:
		h.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskCanceledEventAttributes{
			ActivityTaskCanceledEventAttributes: &historypb.ActivityTaskCanceledEventAttributes{ScheduledEventId: scheduled, StartedEventId: started},
		}})
	case o.timeout != enumspb.TIMEOUT_TYPE_UNSPECIFIED:
		h.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
			ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{
				ScheduledEventId: scheduled, StartedEventId: started, Failure: o.timedOut(), RetryState: enumspb.RETRY_STATE_NON_RETRYABLE_FAILURE,
			}}})
	default:
		h.add(enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED, &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{
			ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{
				ScheduledEventId: scheduled, StartedEventId: started, Failure: temporal.GetDefaultFailureConverter().ErrorToFailure(o.err),
			}}})
	}
}

// timedOut is a timeout as the server records it.
func (o settledAs) timedOut() *failurepb.Failure {
	info := &failurepb.TimeoutFailureInfo{TimeoutType: o.timeout}
	if o.marker == garbled {
		info.LastHeartbeatDetails = &commonpb.Payloads{Payloads: []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("of no codec")}}}}
	} else if o.marker != noMarker {
		info.LastHeartbeatDetails, _ = converter.GetDefaultDataConverter().ToPayloads(markers[o.marker], heartbeat.Author{Attempt: 1, Host: "host", At: time.Unix(0, 0)})
	}
	return &failurepb.Failure{Message: o.name, FailureInfo: &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: info}}
}
