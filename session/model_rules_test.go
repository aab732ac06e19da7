package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

// rules are the decisions of the code as functions of what a state knows. Each
// runs the code's own function; a planted mistake replaces one.
type rules struct {
	// decide: may an attempt open?
	decide func(facts) verdict
	// confirm: what does a reading of describe say to an attempt?
	confirm func(reading) confirmation
	// disowned: why does a session end whose writer's ownership ended so?
	disowned func(heartbeat.End) endingID
	// ending: what does an attempt report whose session ended so?
	ending func(endingID) outcomeID
	// unopened: what does an attempt report that has no session?
	unopened func(unopened) outcomeID
	// admit: is an operation this session's?
	admit func(admission) admitted
	// begin: does this attempt of an operation run it, and if its block has ended,
	// with what outcome?
	begin func(beginning) began
	// perform: does a request go out, and with what outcome does it end?
	perform func(performance) performed
	// deliver: what does an attempt get that finds this in the ledger?
	deliver func(delivery) outcomeID
	// workflow: what does the workflow make of what has come?
	workflow func(situation) telling
	// afterOpened is the marker of a session that ends: the writer keeps the last.
	afterOpened markerID
	// keyed: each block has a queue of its own.
	keyed bool
	// looksOnce: an attempt that has listened opens without another look.
	looksOnce bool
	// alwaysClears: an attempt that was not let open says that there is no session.
	alwaysClears bool
	// unleased: a host serves on although its lease has lapsed.
	unleased bool
	// namesNewest: operations name the session that came last, not the one that
	// their block has learned.
	namesNewest bool
}

type (
	facts struct {
		otherRun  bool
		past      markerID
		ranBefore bool
		heard     heartbeat.Heard
	}
	verdict struct {
		decision heartbeat.Decision
		out      outcomeID
	}
	reading struct {
		pending             bool
		attempt, token      int8
		marker              markerID
		author              int8 // the attempt that wrote it
		failed, rescheduled bool
	}
	confirmation int8
	unopened     struct {
		why       endingID
		permanent bool
		reason    failure.Reason
	}
	admission struct {
		info                   bool
		otherBlock, otherRun   bool // in the envelope; in the activity's own info
		serving, otherInstance bool
		later, anew            bool // an attempt after the first; describe shows one before
	}
	admitted struct {
		out  outcomeID // none when admitted
		said heartbeat.Heard
	}
	beginning struct {
		entry ledgerEntry
		why   endingID
	}
	began struct {
		runs  bool
		entry ledgerEntry
	}
	performance struct {
		end    heartbeat.End
		lapsed bool
		why    endingID
		fate   fate
		resent bool
	}
	performed struct {
		sends bool
		why   endingID // what the check itself ended the block with
		out   outcomeID
		again bool
	}
	delivery struct {
		entry ledgerEntry
		again bool
	}
	fate int8
)

const (
	notYet confirmation = iota
	firstTime
	ranEarlier
	notPending
)

const (
	answered fate = iota
	cutUnsent
	cutSent
	timedOutUnsent
	timedOutSent
	unanswered // sent, and what came back is no answer
)

// codeRules are the rules as the code has them.
func (w *world) codeRules() rules {
	return rules{
		decide:   memo(w.decide),
		confirm:  memo(w.confirm),
		disowned: memo(w.disownedBy),
		ending:   memo(func(e endingID) outcomeID { return w.failed(w.endings[e].err(newModelAttempt())) }),
		unopened: memo(w.unopened),
		admit:    memo(w.admit),
		begin:    memo(w.begin),
		perform:  memo(w.perform),
		deliver:  memo(w.deliver),
		workflow: memo(w.tell),
		keyed:    true,

		afterOpened: opened,
	}
}

// memo makes a pure function that is slow quick.
func memo[K comparable, V any](f func(K) V) func(K) V {
	known := make(map[K]V)
	return func(k K) V {
		v, ok := known[k]
		if !ok {
			v = f(k)
			known[k] = v
		}
		return v
	}
}

func (w *world) decide(f facts) verdict {
	in := heartbeat.Facts{InputRunID: runIDs[0], RunID: runIDs[0], RanBefore: f.ranBefore, Heard: f.heard}
	if f.otherRun {
		in.RunID = runIDs[1]
	}
	if f.past == garbled {
		in.Past.Err = errors.New("garbled")
	} else {
		in.Past.Marker = markers[f.past]
	}
	v := heartbeat.Decide(in)
	if v.Decision == heartbeat.Refuse {
		return verdict{v.Decision, w.failed(newModelAttempt().refused(v, in.Past))}
	}
	return verdict{decision: v.Decision}
}

// confirm reads once: its context is done, so that Confirm does not wait.
func (w *world) confirm(r reading) confirmation {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	info := modelInfo(false)
	info.Attempt = int32(r.token)
	ranBefore, err := heartbeat.Confirm(ctx, func(context.Context) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
		return r.response(), nil
	}, info, heartbeat.MayBeOpen)
	switch {
	case errors.Is(err, heartbeat.ErrNotPending):
		return notPending
	case err != nil:
		return notYet
	case ranBefore:
		return ranEarlier
	}
	return firstTime
}

// response is what describe says; scheduledAt is the activity's own time.
func (r reading) response() *workflowservice.DescribeWorkflowExecutionResponse {
	response := &workflowservice.DescribeWorkflowExecutionResponse{}
	if !r.pending {
		return response
	}
	pending := &workflowpb.PendingActivityInfo{
		ActivityId: modelActivityID, Attempt: int32(r.attempt), ScheduledTime: timestamppb.New(scheduledAt), State: enumspb.PENDING_ACTIVITY_STATE_STARTED,
	}
	if r.rescheduled {
		pending.ScheduledTime = timestamppb.New(scheduledAt.Add(time.Minute))
	}
	if r.failed {
		pending.LastFailure = &failurepb.Failure{Message: "failed"}
	}
	if r.marker != noMarker {
		pending.HeartbeatDetails, _ = converter.GetDefaultDataConverter().ToPayloads(markers[r.marker], heartbeat.Author{Attempt: int32(r.author)})
	}
	response.PendingActivities = append(response.PendingActivities, pending)
	return response
}

// disownedBy has the writer itself judge the server's answer.
func (w *world) disownedBy(end heartbeat.End) endingID {
	a := newModelAttempt()
	a.writer = modelWriter(end)
	return w.endingOf(a.disowned())
}

// modelWriter returns a stopped writer whose ownership ended so.
func modelWriter(end heartbeat.End) *heartbeat.Writer {
	info := modelInfo(false)
	answer := map[heartbeat.End]error{
		heartbeat.CancelRequested: temporal.NewCanceledError(),
		heartbeat.Reset:           activity.ErrActivityReset,
		heartbeat.NotFound:        serviceerror.NewNotFound("not found"),
	}[end]
	if end == heartbeat.LeaseLost {
		info.HeartbeatTimeout = time.Nanosecond
	}
	writer := heartbeat.NewWriter(heartbeat.WriterOptions{Recorder: modelRecorder{answer}, Info: info, Logger: quiet{}})
	if end == heartbeat.LeaseLost {
		for writer.Owner() { // until the clock has moved
		}
		return writer
	}
	writer.Start()
	_ = writer.Mark(context.Background(), heartbeat.MayBeOpen)
	writer.Stop()
	if writer.Ended() != end {
		panic(fmt.Sprintf("the writer ended with %v, want %v", writer.Ended(), end))
	}
	return writer
}

func (w *world) unopened(u unopened) outcomeID {
	a := newModelAttempt()
	a.block = modelBlock(a)
	if u.why != noEnding {
		a.block.end(w.endings[u.why])
	}
	if u.permanent {
		return w.failed(a.openFailure(u.reason, errWorkerStopping))
	}
	return w.failed(a.ended(a.retryable(u.reason, errors.New("no session"))))
}

func (w *world) admit(q admission) admitted {
	a := newModelAttempt()
	a.client = modelClient{service: modelService{response: reading{pending: true, attempt: 1, rescheduled: q.anew}.response()}}
	b := modelBlock(a)
	if q.serving {
		close(b.serving)
	}
	info := modelInfo(q.otherRun)
	if q.later {
		info.Attempt = 2
	}
	op := queue.Operation{RunID: a.input.RunID, Key: a.input.Key, Instance: b.instance}
	if q.otherBlock {
		op.Key = "other"
	}
	if q.otherInstance {
		op.Instance = "other"
	}
	var err error
	if q.info {
		op.Instance = ""
		if err = b.admitBlock(context.Background(), info, op, ""); err == nil {
			b.say(heartbeat.HeardInfo) // as sessionInfo does
		}
	} else {
		err = b.admitInstance(context.Background(), info, op, modelTool)
	}
	var said heartbeat.Heard
	select {
	case said = <-b.heard:
	default:
	}
	if err != nil {
		return admitted{w.failed(err), said}
	}
	return admitted{said: said}
}

// ledgerWith returns a block with a ledger that has the call's entry like this.
func (w *world) ledgerWith(e ledgerEntry) *block {
	b := modelBlock(newModelAttempt())
	if e.step == unknown {
		return b
	}
	entry, _ := b.ledger.begin(modelActivityID, func(error) {})
	entry.sends = int(e.sends)
	switch e.step {
	case forgotten:
		b.ledger.limit = 1
		b.ledger.finish(entry, outcome{value: json.RawMessage("{}")})
		other, _ := b.ledger.begin("other", func(error) {})
		b.ledger.finish(other, outcome{value: json.RawMessage("{}")})
	case done:
		o := outcome{err: w.err(e.out), again: e.again}
		if o.err == nil {
			o.value = json.RawMessage("{}")
		}
		b.ledger.finish(entry, o)
	}
	return b
}

func (w *world) begin(q beginning) began {
	b := w.ledgerWith(q.entry)
	b.ledger.reopen(modelActivityID, int(w.sends))
	e, runs := b.ledger.begin(modelActivityID, func(error) {})
	if !runs {
		return began{}
	}
	n := began{true, ledgerEntry{step: begun, sends: int8(e.sends)}}
	if q.why == noEnding {
		return n
	}
	b.end(w.endings[q.why])
	b.start(context.Background(), e, modelTool, nil)
	n.entry.step, n.entry.out = done, w.failed(e.result().err)
	return n
}

func (w *world) perform(q performance) performed {
	a := newModelAttempt()
	if q.fate == unanswered {
		err := failure.New(failure.TypeCall, "no answer", failure.Details{Reason: failure.ReasonNoAnswer, ToolRan: failure.RanUnknown}, nil)
		return performed{sends: true, out: w.failed(err), again: repeatable(err)}
	}
	end := q.end
	if end <= heartbeat.CancelRequested && q.lapsed {
		end = heartbeat.LeaseLost
	}
	a.writer = modelWriter(end)
	b := modelBlock(a)
	ctx := context.Background()
	if q.resent {
		ctx = context.WithValue(ctx, resentKey{}, true) // as start does
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if q.fate == answered && q.why != noEnding {
		b.end(w.endings[q.why])
	}
	var p performed
	o := b.perform(ctx, queue.Operation{Timeout: time.Hour}, modelTool, func(ctx context.Context) (any, error) {
		p.sends = true
		if q.fate == answered || q.fate == cutSent || q.fate == timedOutSent {
			transport.SendBegins(ctx)
		}
		switch q.fate {
		case cutUnsent, cutSent:
			b.end(w.endings[q.why])
			cancel(w.endings[q.why])
			return nil, context.Canceled
		case timedOutUnsent, timedOutSent:
			cancel(errCallTimeout)
			return nil, context.Canceled
		}
		return map[string]any{}, nil
	})
	if e := b.ending(); e != nil && q.why == noEnding {
		p.why = w.endingOf(e)
	}
	p.out, p.again = completed, o.again
	if o.err != nil {
		p.out = w.failed(o.err)
	}
	return p
}

func (w *world) deliver(q delivery) outcomeID {
	b := w.ledgerWith(q.entry)
	e := b.ledger.entries[modelActivityID]
	if e.mayRepeat(int(w.sends)) {
		return w.failed(failure.Rewrap(e.result().err)) // as operate does
	}
	if _, err := b.deliver(context.Background(), modelInfo(false), e.result(), modelTool, q.again); err != nil {
		return w.failed(err)
	}
	return completed
}
