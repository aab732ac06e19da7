package toolsettest

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
)

// An operation is one attempt of an operation's activity. The requests that it makes
// find it in their context, and leave here what has to happen after them.
type operation struct {
	kit     *Kit
	server  *server
	session *held // nil for stateless ones
	info    activity.Info
	op      queue.Operation

	calls []*record // that it made; under kit.mu, as what follows
	after *CallFault
	lost  bool // the host of a stateless call
}

type operationKey struct{}

func operationOf(ctx context.Context) *operation {
	o, _ := ctx.Value(operationKey{}).(*operation)
	return o
}

// wrapOperation returns the activity that serves an operation of any session of a
// server.
func (k *Kit) wrapOperation(name string, f function) any {
	return f.like(func(ctx context.Context, args []reflect.Value) (any, error) {
		info := activity.GetInfo(ctx)
		b := k.block(info.TaskQueue)
		if strings.HasSuffix(name, "."+string(queue.OperationSessionInfo)) {
			return b.info(ctx, k, args)
		}
		b.mu.Lock()
		s := b.session
		b.mu.Unlock()
		if s == nil {
			return nil, fmt.Errorf("toolsettest: there is no session on task queue %s; schedule operations by package toolset", info.TaskQueue)
		}
		o := &operation{kit: k, server: s.server, session: s, info: info, op: parts(args[1])}
		return o.runInSession(ctx, func(ctx context.Context) (any, error) { return s.operations[name].call(ctx, args) })
	})
}

// wrapStateless returns the activity that serves a stateless operation.
func (sv *server) wrapStateless(a any) any {
	f := function{reflect.ValueOf(a)}
	return f.like(func(ctx context.Context, args []reflect.Value) (any, error) {
		o := &operation{kit: sv.kit, server: sv, info: activity.GetInfo(ctx), op: parts(args[1])}
		ctx = context.WithValue(sv.kit.withClient(ctx), operationKey{}, o)
		result, err := f.call(ctx, args)
		o.note(err)
		if o.lost {
			return nil, temporal.NewHeartbeatTimeoutError()
		}
		result, delay, err := o.outcome(result, err)
		if delay == 0 {
			return result, err
		}
		sv.kit.after(delay, func() { o.complete(result, err) })
		return nil, activity.ErrResultPending
	})
}

// parts returns what all operations carry, of an input of any of them.
func parts(input reflect.Value) queue.Operation {
	for input.Kind() == reflect.Struct {
		if op, ok := input.Interface().(queue.Operation); ok {
			return op
		}
		input = input.FieldByName("Operation")
	}
	return queue.Operation{}
}

// runInSession makes an attempt of an operation in a session, and returns its outcome.
// When the session has ended, that is told after it: what the operation says of a loss
// is more, since it knows whether the tool ran.
func (o *operation) runInSession(ctx context.Context, call func(context.Context) (any, error)) (any, error) {
	s := o.session
	s.attempts.begin()
	s.move(1)
	result, err := call(context.WithValue(ctx, operationKey{}, o))
	o.note(err)
	result, delay, err := o.outcome(result, err)
	if f := o.losesAfter(); f != nil && err == nil {
		s.lose(f.reason, f.message())
		s.awaitEnd()
		return result, nil
	}
	switch {
	case s.ended():
		if s.awaitEnd(); s.isSilent() || o.closes() && s.isLost() {
			return nil, activity.ErrResultPending // the session's end says it
		}
		return result, err
	case delay > 0:
		s.attempts.end()
		o.kit.after(delay, func() {
			s.move(-1)
			o.complete(result, err)
		})
		return nil, activity.ErrResultPending
	}
	s.move(-1)
	s.attempts.end()
	return result, err
}

// awaitEnd ends an attempt in a session that has ended, when it is settled at which time
// of the clock that is told. The clock stands until then.
func (s *held) awaitEnd() {
	s.move(-1)
	s.attempts.end()
	<-s.finished
}

func (o *operation) complete(result any, err error) {
	o.kit.complete(o.info, result, err)
	o.kit.wake(o.info.WorkflowExecution)
}

// losesAfter returns the loss that is planned for when the result is there.
func (o *operation) losesAfter() *CallFault {
	o.kit.mu.Lock()
	defer o.kit.mu.Unlock()
	if o.after != nil && o.after.effect == lose {
		return o.after
	}
	return nil
}

// closes reports whether the operation closes the session.
func (o *operation) closes() bool {
	return o.info.ActivityType.Name == queue.OperationActivity(o.server.Name, queue.OperationCloseSession)
}

// outcome returns what the attempt comes to, and after which time on the workflow's
// clock, as the test has planned.
func (o *operation) outcome(result any, err error) (any, time.Duration, error) {
	o.kit.mu.Lock()
	f := o.after
	o.kit.mu.Unlock()
	switch {
	case f == nil || err != nil:
		return result, 0, err
	case f.effect == tooLarge:
		const limit = 2 << 20 // of a Temporal payload
		err = failure.NewResultTooLarge(failure.SizeDetails{Server: o.server.Name, Tool: f.called, Size: limit + 1, Limit: limit})
		o.note(err)
		return nil, 0, err
	case f.effect == slow && o.op.Timeout > 0 && f.delay >= o.op.Timeout:
		err = o.timedOut(f.called)
		o.note(err)
		return nil, o.op.Timeout, err
	case f.effect == slow:
		return result, f.delay, nil
	}
	return result, 0, nil
}

// timedOut is the failure of a call that was not answered in time, as the engine has
// it.
func (o *operation) timedOut(tool string) error {
	d := failure.Details{Server: o.server.Name, Reason: failure.ReasonCallTimeout, Tool: tool, ToolRan: failure.RanUnknown, Host: Host}
	return failure.New(failure.TypeCall, fmt.Sprintf("no answer came within CallTimeout (%v); the request was cancelled", o.op.Timeout), d, nil)
}

// note keeps the failure of an operation with those of its calls whose answer has not
// come to the workflow.
func (o *operation) note(err error) {
	if err == nil {
		return
	}
	o.kit.mu.Lock()
	defer o.kit.mu.Unlock()
	for _, r := range o.calls {
		if r.Err == nil && (r.Result == nil || r.fault.withholds()) {
			r.Err = err
		}
	}
}
