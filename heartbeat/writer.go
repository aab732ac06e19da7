package heartbeat

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
)

// MaxInterval is the longest time between two beats.
const MaxInterval = 20 * time.Second

// A Recorder sends one heartbeat and waits for the server's answer. A Temporal
// client is one.
type Recorder interface {
	RecordActivityHeartbeatWithOptions(context.Context, client.RecordActivityHeartbeatOptions) error
}

// WriterOptions configure a [Writer].
type WriterOptions struct {
	// Recorder sends the heartbeats; required.
	Recorder Recorder
	// Info is the session activity's own; its HeartbeatTimeout is required.
	Info activity.Info
	// Author is the second detail of every heartbeat.
	Author Author
	// Tally makes the third detail of every heartbeat, anew for each; without it
	// there are two. It is called by the writer's goroutine and must not block.
	Tally func() Tally
	// Logger gets the errors of single beats; required.
	Logger log.Logger
}

// An End says how the host's ownership of its session ended.
type End int

const (
	// NotEnded: the host owns the session.
	NotEnded End = iota
	// CancelRequested: the workflow asks the activity to end. The host still owns
	// the session and goes on to beat until it has.
	CancelRequested
	// Reset: an operator has reset the activity; another attempt will come.
	Reset
	// NotFound: the server knows this attempt no more. The run is closed, or the
	// attempt was timed out or reset.
	NotFound
	// LeaseLost: no beat was acknowledged for a heartbeat timeout.
	LeaseLost
)

// ErrStopped is returned by Mark once the writer has stopped or ended.
var ErrStopped = errors.New("heartbeat: the writer has stopped")

// A Writer sends all heartbeats of one attempt. Start begins; [Writer.Stop] ends
// it, may be called more than once and before Start, and returns when no beat is
// in flight any more.
type Writer struct {
	options  WriterOptions
	interval time.Duration
	timeout  time.Duration

	requests chan request
	stop     context.CancelFunc
	stopping context.Context
	started  sync.Once
	done     chan struct{} // closed when run has returned
	ended    chan struct{} // closed when end is no longer NotEnded
	disowned chan struct{} // closed when end is one that allows no further beat

	// now is time.Now, but for tests of a clock that jumps.
	now func() time.Time

	mu     sync.Mutex
	end    End
	leased time.Time // when the last acknowledged beat was sent
	expiry *time.Timer
}

type request struct {
	ctx    context.Context
	marker Marker
	done   chan error
}

// NewWriter returns a writer that has not started. The lease begins now, which is
// a little after the server has begun to count; nothing is open before the first
// acknowledged beat, from which on the host counts from earlier than the server.
func NewWriter(options WriterOptions) *Writer {
	timeout := options.Info.HeartbeatTimeout
	stopping, stop := context.WithCancel(context.Background())
	return &Writer{
		options:  options,
		timeout:  timeout,
		interval: min(timeout/3, MaxInterval),
		requests: make(chan request),
		stop:     stop,
		stopping: stopping,
		done:     make(chan struct{}),
		ended:    make(chan struct{}),
		disowned: make(chan struct{}),
		leased:   time.Now(),
		now:      time.Now,
	}
}

// Start begins to beat. Before the first Mark a beat has no details and so leaves
// no marker, which is what an attempt that has done nothing must leave.
func (w *Writer) Start() {
	w.started.Do(func() {
		w.mu.Lock()
		w.expiry = time.AfterFunc(w.timeout, w.checkLease)
		w.mu.Unlock()
		go w.run()
	})
}

// Mark makes marker the details of this and every later beat, and returns when
// the server has acknowledged one that carries it. When ctx is done first, the
// server may or may not have it: later beats carry it all the same.
func (w *Writer) Mark(ctx context.Context, marker Marker) error {
	r := request{ctx: ctx, marker: marker, done: make(chan error, 1)}
	select {
	case w.requests <- r:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.done:
		return ErrStopped
	}
	// What was taken is answered: run never leaves a request behind.
	return <-r.done
}

// SetHost changes the name of the host in the details of every later beat.
func (w *Writer) SetHost(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.options.Author.Host = host
}

func (w *Writer) author() Author {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.options.Author
}

// Owner reports whether the host still owns its session. A host that was paused
// may find here that it does not before any timer of it has fired.
func (w *Writer) Owner() bool {
	w.checkLease()
	end := w.Ended()
	return end == NotEnded || end == CancelRequested
}

// Ended returns how ownership ended, NotEnded while it has not.
func (w *Writer) Ended() End {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end
}

// Done is closed when ownership has ended, or is asked to.
func (w *Writer) Done() <-chan struct{} { return w.ended }

// Stop ends the beats and waits for the one in flight.
func (w *Writer) Stop() {
	w.stop()
	w.started.Do(func() { close(w.done) })
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.expiry != nil {
		w.expiry.Stop()
	}
}

func (w *Writer) run() {
	defer close(w.done)
	var marker Marker
	next := time.NewTimer(w.interval)
	defer next.Stop()
	for {
		var err error
		select {
		case <-w.stopping.Done():
			return
		case <-w.disowned:
			return
		case <-next.C:
			err = w.beat(w.stopping, marker)
		case r := <-w.requests:
			marker = r.marker
			err = w.beatUntilAcknowledged(r.ctx, marker)
			r.done <- err
		}
		if err != nil {
			// One that got no answer has taken an interval already: after another
			// one the lease would be over.
			next.Reset(w.retryPause())
			continue
		}
		next.Reset(w.interval)
	}
}

// retryPause is how long after a beat that failed the next one is due.
func (w *Writer) retryPause() time.Duration { return w.interval / 10 }

func (w *Writer) beatUntilAcknowledged(ctx context.Context, marker Marker) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.stopping, func() { cancel(ErrStopped) })()
	pause := time.NewTimer(0)
	defer pause.Stop()
	var err error
	for {
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-w.disowned:
			return ErrStopped
		case <-pause.C:
		}
		if err = w.tryBeat(ctx, marker); err == nil {
			return nil
		}
		pause.Reset(w.retryPause())
	}
}

// tryBeat is beat, which takes half of the time that ctx has left at most: one that
// hangs must leave time for another.
func (w *Writer) tryBeat(ctx context.Context, marker Marker) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	return w.beat(ctx, marker)
}

// beat sends one heartbeat. A nil error means that the server has it.
func (w *Writer) beat(ctx context.Context, marker Marker) error {
	// A beat that hangs must leave time for another before the lease ends.
	ctx, cancel := context.WithTimeout(ctx, max(w.interval, min(time.Second, w.timeout/2)))
	defer cancel()
	var details []any
	if marker != "" {
		details = []any{marker, w.author()}
		if w.options.Tally != nil {
			details = append(details, w.options.Tally())
		}
	}
	info := w.options.Info
	sent := time.Now()
	err := w.options.Recorder.RecordActivityHeartbeatWithOptions(ctx, client.RecordActivityHeartbeatOptions{
		TaskToken:    info.TaskToken,
		Details:      details,
		Namespace:    info.Namespace,
		WorkflowID:   info.WorkflowExecution.ID,
		WorkflowType: info.WorkflowType.Name,
		ActivityType: info.ActivityType.Name,
		TaskQueue:    info.TaskQueue,
	})
	var canceled *temporal.CanceledError
	var notFound *serviceerror.NotFound
	switch {
	case err == nil, errors.Is(err, activity.ErrActivityPaused):
		// A pause stops further attempts; this one may go on.
		w.renew(sent)
		return nil
	case errors.As(err, &canceled):
		// The server has recorded the beat all the same.
		w.renew(sent)
		w.finish(CancelRequested)
		return nil
	case errors.Is(err, activity.ErrActivityReset):
		w.finish(Reset)
	case errors.As(err, &notFound):
		w.finish(NotFound)
	case w.stopping.Err() == nil:
		w.options.Logger.Warn("mcpsession: heartbeat not acknowledged", "error", err)
	}
	return err
}

func (w *Writer) renew(sent time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end > CancelRequested || !w.holds(w.now()) {
		// An acknowledgement that comes after the lease has ended is no new one:
		// what was refused meanwhile stays refused.
		return
	}
	w.leased = sent
	w.expiry.Reset(w.timeout - time.Since(sent))
}

// holds reports whether the lease has not run out. The caller holds mu.
func (w *Writer) holds(now time.Time) bool {
	return now.Sub(w.leased) < w.timeout && now.Round(0).Sub(w.leased.Round(0)) < w.timeout
}

func (w *Writer) checkLease() {
	w.mu.Lock()
	lost := !w.holds(w.now())
	w.mu.Unlock()
	if lost {
		w.finish(LeaseLost)
	}
}

func (w *Writer) finish(end End) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end > CancelRequested || w.end == end {
		return
	}
	if w.end == NotEnded {
		close(w.ended)
	}
	w.end = end
	if end > CancelRequested {
		close(w.disowned)
	}
}
