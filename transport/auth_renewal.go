package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpsession/mcpsession/internal/thrown"
)

// errTokenTimeout says that a token did not come in time.
var errTokenTimeout = errors.New("no token came in time")

// errGetterExits says that a getter ended its goroutine, as runtime.Goexit does.
var errGetterExits = errors.New("it ended its goroutine without returning")

// errTokensHang says that a getter is not run, since too many hang.
var errTokensHang = fmt.Errorf("no token came in time: %d calls of it have not returned, so it is not called again until one does", MaxHungTokens)

// A renewal gets a T for all who need one at the same time: one getter runs at most,
// and all wait for it. Who needs one says how many rounds had ended when it last took
// one: a round that has ended since then is as good as another.
type renewal[T any] struct {
	patience time.Duration // how long anybody waits
	hung     *atomic.Int32 // getters that are late, those of others too; nil if there are no others

	mu      sync.Mutex
	ended   uint64    // rounds
	last    *round[T] // that has ended
	running *round[T]
}

// A round is one run of the getter.
type round[T any] struct {
	began time.Time
	done  chan struct{}
	value T
	err   error
}

// rounds returns how many have ended.
func (r *renewal[T]) rounds() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// after returns the outcome of a round that ended after that many others: of the last,
// of the one that runs, or of a new one. The getter's context is not that of one who
// waits: base is, bounded by limit.
func (r *renewal[T]) after(ctx context.Context, rounds uint64, base context.Context, limit time.Duration, get func(context.Context) (T, error)) (T, error) {
	r.mu.Lock()
	if r.ended > rounds {
		defer r.mu.Unlock()
		return r.last.value, r.last.err
	}
	var none T
	if r.running == nil {
		if r.hung != nil && r.hung.Load() >= MaxHungTokens {
			r.mu.Unlock()
			return none, errTokensHang
		}
		r.running = &round[T]{began: time.Now(), done: make(chan struct{})}
		go r.run(r.running, base, limit, get)
	}
	running := r.running
	r.mu.Unlock()

	// From its beginning: nobody waits for one that hangs who comes after that.
	timer := time.NewTimer(r.patience - time.Since(running.began))
	defer timer.Stop()
	select {
	case <-running.done:
		return running.value, running.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-timer.C:
		return none, fmt.Errorf("%w (%v)", errTokenTimeout, r.patience)
	}
}

// run is a round. A context that was given to the getter is cancelled only when it
// is late, since a handler may keep it in what it makes.
func (r *renewal[T]) run(round *round[T], base context.Context, limit time.Duration, get func(context.Context) (T, error)) {
	ctx, cancel := context.WithCancelCause(base)
	late := time.AfterFunc(limit, func() {
		if r.hung != nil {
			r.hung.Add(1)
		}
		cancel(errTokenTimeout)
	})
	defer func() {
		if !late.Stop() && r.hung != nil {
			r.hung.Add(-1)
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			round.err = thrown.Error("it", p)
		}
		r.mu.Lock()
		r.ended++
		r.last, r.running = round, nil
		r.mu.Unlock()
		close(round.done)
	}()
	round.err = errGetterExits
	round.value, round.err = get(ctx)
}
