package toolsettest

import (
	"context"
	"reflect"
	"sync"

	"go.temporal.io/sdk/activity"
)

// A block is the meeting place of a block's session activity and of its operations,
// which come by the name of its task queue, as on a worker.
type block struct {
	mu      sync.Mutex
	settled chan struct{} // closed when the session activity's first attempt has come to something
	session *held         // nil until one is open
	asking  []func(*held) // session-info that came between two attempts
}

// block returns the block of a task queue.
func (k *Kit) block(taskQueue string) *block {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.blocks[taskQueue]
	if b == nil {
		b = &block{settled: make(chan struct{})}
		k.blocks[taskQueue] = b
	}
	return b
}

// settle notes what an attempt of the session activity came to: a session, or none.
func (b *block) settle(s *held) {
	b.mu.Lock()
	select {
	case <-b.settled:
	default:
		close(b.settled)
	}
	var asking []func(*held)
	if s != nil {
		b.session, asking, b.asking = s, b.asking, nil
	}
	b.mu.Unlock()
	for _, answer := range asking {
		answer(s)
	}
}

// info answers session-info, which is asked for beside the session activity. When an
// attempt of that has failed it is pending until there is a session, for which the
// clock has to go on.
func (b *block) info(ctx context.Context, k *Kit, args []reflect.Value) (any, error) {
	select {
	case <-b.settled:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	info := activity.GetInfo(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.session != nil {
		return b.session.operations[info.ActivityType.Name].call(ctx, args)
	}
	b.asking = append(b.asking, func(s *held) {
		// The activity's context has ended with the activity.
		result, err := s.operations[info.ActivityType.Name].call(context.WithoutCancel(ctx), args)
		k.complete(info, result, err)
		k.wake(info.WorkflowExecution)
	})
	return nil, activity.ErrResultPending
}

// attempts counts what is under way.
type attempts struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed once n comes to zero; nil while it is
}

func (a *attempts) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n++; a.n == 1 {
		a.empty = make(chan struct{})
	}
}

func (a *attempts) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n--; a.n == 0 {
		close(a.empty)
		a.empty = nil
	}
}

func (a *attempts) any() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n > 0
}

// await returns when nothing is under way.
func (a *attempts) await() {
	a.mu.Lock()
	empty := a.empty
	a.mu.Unlock()
	if empty != nil {
		<-empty
	}
}
