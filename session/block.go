package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
)

// settleTimeout is how long the end of a block waits for its cancelled requests
// to return. The MCP SDK returns from a cancelled request at once.
const settleTimeout = 5 * time.Second

// A block is the worker's side of one scoped block of a run: its queue, its
// session, and what became of its operations. It exists from before the session
// opens, since an attempt may have to listen to the queue first.
type block struct {
	attempt  *attempt
	instance string
	ledger   *ledger

	// ctx is done when the block ends, with the ending as its cause. Every request
	// to the server ends with it, and none with the activity's own context: that
	// one is done for reasons that mean nothing to the server.
	ctx    context.Context
	cancel context.CancelCauseFunc

	conn     *connection
	openedAt time.Time
	worker   worker.Worker
	serving  chan struct{} // closed when conn may be used
	over     chan struct{} // closed when the server is gone
	warning  string        // what went wrong while closing; read after over

	heard        chan heartbeat.Heard
	arrivals     chan struct{} // a token when operations came or went, for the idle timer
	slots        chan struct{} // nil without MaxConcurrentCalls
	toolsChanged atomic.Bool
	inFlight     atomic.Int64
	requests     sync.WaitGroup

	mu  sync.Mutex
	why *ending
}

func newBlock(ctx context.Context, a *attempt, instance string) *block {
	b := &block{
		attempt:  a,
		instance: instance,
		ledger:   newLedger(ledgerBytes),
		serving:  make(chan struct{}),
		over:     make(chan struct{}),
		heard:    make(chan heartbeat.Heard, 1),
		arrivals: make(chan struct{}, 1),
	}
	if n := a.server.MaxConcurrentCalls; n > 0 {
		b.slots = make(chan struct{}, n)
	}
	// The connector may want the activity's logger and what was propagated to it.
	b.ctx, b.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return b
}

// end ends the block; only the first ending counts.
func (b *block) end(e *ending) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why == nil {
		b.why = e
		b.cancel(e)
	}
}

// begin runs a request unless the block has ended, and reports whether it does.
// The lock is what lets close wait for requests: none is added after the ending.
func (b *block) begin(request func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why != nil {
		return false
	}
	b.requests.Go(request)
	return true
}

// ending returns why the block ended; nil while it has not.
func (b *block) ending() *ending {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why
}

// listen starts the worker of the block's queue.
func (b *block) listen() error {
	a := b.attempt
	taskQueue := queue.Name(a.server.Name, a.input.RunID, a.input.Key)
	w, err := a.host.dedicatedWorker(a.client, taskQueue, func(err error) {
		b.end(lost(failure.ReasonDedicatedWorker, "the worker of its task queue failed: %v", err))
	})
	if err == nil {
		b.register(w)
		err = w.Start()
	}
	if err != nil {
		return fmt.Errorf("start the worker of task queue %s: %w", taskQueue, err)
	}
	b.worker = w
	return nil
}

// hear waits for the first word of the block.
func (b *block) hear(timeout time.Duration) heartbeat.Heard {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case heard := <-b.heard:
		return heard
	case <-timer.C:
		return heartbeat.HeardSilence
	case <-b.ctx.Done():
		return heartbeat.HeardSilence
	}
}

// attach gives the block its session.
func (b *block) attach(conn *connection) {
	b.conn = conn
	b.openedAt = time.Now().UTC()
	b.attempt.tally.open(b.openedAt)
}

// serve lets operations reach the session until the block ends.
func (b *block) serve() {
	close(b.serving)
	if b.worker == nil {
		if err := b.listen(); err != nil {
			b.end(lost(failure.ReasonDedicatedWorker, "%v", err))
			return
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- b.conn.Wait() }()

	var idle <-chan time.Time
	idleTimer := time.NewTimer(time.Hour)
	defer idleTimer.Stop()
	for {
		idle = nil
		if timeout := b.attempt.server.IdleTimeout; timeout > 0 && b.inFlight.Load() == 0 {
			idleTimer.Reset(timeout)
			idle = idleTimer.C
		}
		select {
		case <-b.ctx.Done():
			return
		case <-b.arrivals:
		case <-b.conn.gone():
			b.endGone(nil)
		case err := <-closed:
			b.endGone(err)
		case <-idle:
			b.end(lost(failure.ReasonIdle, "no operation came for %v", b.attempt.server.IdleTimeout))
		}
	}
}

// endGone ends the block because its server is gone; err is what the connection
// said, which the transport's own word goes before.
func (b *block) endGone(err error) {
	if cause := b.conn.cause(); cause != nil {
		err = cause
	}
	if err == nil {
		b.end(lost(failure.ReasonServerGone, "the MCP server closed the connection"))
		return
	}
	b.end(lost(failure.ReasonServerGone, "the MCP server is gone: %v", scrubbed(err)))
}

// arrived and departed count the operations for the idle timer.
func (b *block) arrived() { b.inFlight.Add(1); b.nudge() }

func (b *block) departed() { b.inFlight.Add(-1); b.nudge() }

func (b *block) nudge() {
	select {
	case b.arrivals <- struct{}{}:
	default:
	}
}

// close ends the session: requests first, since the MCP SDK's Close waits for
// them, then the connection, in bounded time.
func (b *block) close() {
	settled := make(chan struct{})
	go func() { b.requests.Wait(); close(settled) }()
	select {
	case <-settled:
	case <-time.After(settleTimeout):
	}
	if err := b.conn.close(); err != nil {
		b.warning = scrubbed(err).Error()
	}
	close(b.over)
}

// release frees what the block holds besides its session. Its worker first
// reports the operations that have an outcome.
func (b *block) release() {
	b.end(&ending{kind: endUnowned, message: "it was not opened"})
	if !isClosed(b.over) {
		close(b.over)
	}
	if b.worker != nil {
		b.worker.Stop()
	}
}
