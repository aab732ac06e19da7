package session

import (
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// A host is one worker that holds sessions.
type host struct {
	// options are the worker's own, read when a session opens; nil without the
	// plugin.
	options *worker.Options

	mu       sync.Mutex
	attempts map[*attempt]struct{}
	stopping chan struct{} // closed when no attempt may begin any more
	evicting chan struct{} // closed when every attempt must end
	idle     chan struct{} // closed when stopping and no attempt is left
}

func newHost(options *worker.Options) *host {
	return &host{
		options:  options,
		attempts: make(map[*attempt]struct{}),
		stopping: make(chan struct{}),
		evicting: make(chan struct{}),
		idle:     make(chan struct{}),
	}
}

// enter counts an attempt in; it reports false when the host is stopping.
func (h *host) enter(a *attempt) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if isClosed(h.stopping) {
		return false
	}
	h.attempts[a] = struct{}{}
	return true
}

// leave counts an attempt out once it has reported its end.
func (h *host) leave(a *attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.attempts, a)
	if isClosed(h.stopping) && len(h.attempts) == 0 && !isClosed(h.idle) {
		close(h.idle)
	}
}

// shutdown lets sessions end by themselves for as long as drain, ends the rest,
// and returns when all have ended. Each one's end is bounded, so this is too.
func (h *host) shutdown(drain time.Duration) {
	h.mu.Lock()
	if !isClosed(h.stopping) {
		close(h.stopping)
		if len(h.attempts) == 0 {
			close(h.idle)
		}
	}
	h.mu.Unlock()

	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-h.idle:
		return
	case <-timer.C:
	}
	h.mu.Lock()
	if !isClosed(h.evicting) {
		close(h.evicting)
	}
	h.mu.Unlock()
	<-h.idle
}

// identity names the worker process in markers and failures.
func (h *host) identity() string {
	if h.options != nil && h.options.Identity != "" {
		return h.options.Identity
	}
	name, err := os.Hostname()
	if err != nil {
		name = "Unknown"
	}
	// This is what the SDK calls a client that was given no identity.
	return fmt.Sprintf("%d@%s@", os.Getpid(), name)
}

// The bounds of a dedicated worker.
const (
	// dedicatedStopTimeout is how long its stop waits for the operations that
	// have an outcome to report it.
	dedicatedStopTimeout = 5 * time.Second
	// cancelInterval is how often a running operation asks the server whether it
	// was cancelled.
	cancelInterval = time.Second
	// dedicatedSlots is how many operations may wait or run at once. What runs on
	// the server is bounded by MaxConcurrentCalls instead, so that close-session
	// never waits for a slot behind hung calls.
	dedicatedSlots = 100_000
)

// dedicatedWorker returns the worker of one block's queue. Of the host worker's
// options it takes what an operation's activity would expect to find there, and
// never its tuner, rate limits, plugins or deployment: those are meant for a
// queue that many share.
func (h *host) dedicatedWorker(c client.Client, taskQueue string, onFatalError func(error)) worker.Worker {
	options := worker.Options{
		DisableWorkflowWorker:              true,
		DisableRegistrationAliasing:        true,
		MaxConcurrentActivityExecutionSize: dedicatedSlots,
		MaxConcurrentActivityTaskPollers:   1,
		WorkerStopTimeout:                  dedicatedStopTimeout,
		DefaultHeartbeatThrottleInterval:   cancelInterval,
		MaxHeartbeatThrottleInterval:       cancelInterval,
		OnFatalError:                       onFatalError,
	}
	if h.options != nil {
		options.Interceptors = h.options.Interceptors
		options.Identity = h.options.Identity
		options.BackgroundActivityContext = h.options.BackgroundActivityContext
	}
	options.Plugins = []worker.Plugin{&dedication{options: options, handedOn: h.options != nil}}
	return worker.New(c, taskQueue, options)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
