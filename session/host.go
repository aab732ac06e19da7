package session

import (
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/internal/thrown"
	"github.com/mcpsession/mcpsession/queue"
)

// A host is one worker that holds sessions and makes stateless calls.
type host struct {
	// options are the worker's own, read when a session opens; nil without the
	// plugin.
	options *worker.Options

	*gate     // of session activities
	stateless []*stateless
	warm      map[*Server]*warmUse
}

func newHost(options *worker.Options) *host {
	return &host{options: options, gate: newGate(), warm: make(map[*Server]*warmUse)}
}

// A registry is what activities are registered with: a worker, or what a plugin has
// of it.
type registry interface {
	RegisterActivityWithOptions(activity any, options activity.RegisterOptions)
}

// serve registers the activities of a server.
func (h *host) serve(registry registry, server *Server) {
	h.warm[server] = newWarmUse(processWarmPools, server)
	registry.RegisterActivityWithOptions(h.sessionActivity(server), activity.RegisterOptions{Name: queue.SessionActivity(server.Name)})
	s := newStateless(h, server)
	s.register(registry)
	h.stateless = append(h.stateless, s)
}

// prewarm begins to start the sessions that are to be warm, and returns at once.
func (h *host) prewarm() {
	if h.options.LocalActivityWorkerOnly {
		return // it takes no sessions
	}
	for _, warm := range h.warm {
		warm.prewarm()
	}
}

// stop ends everything that the worker has under way, and returns when it has
// ended. Nothing new is opened meanwhile, so warm sessions end at once. Sessions are given as long as drain to end by themselves; a stateless call
// is an activity like any other, so that the worker's own time for those is its
// least.
func (h *host) stop(drain time.Duration) {
	var ended sync.WaitGroup
	ended.Go(func() { h.shutdown(drain) })
	for _, s := range h.stateless {
		ended.Go(func() { s.stop(max(drain, h.options.WorkerStopTimeout)) })
	}
	for _, warm := range h.warm {
		ended.Go(warm.stop)
	}
	ended.Wait()
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
func (h *host) dedicatedWorker(c client.Client, taskQueue string, onFatalError func(error)) (_ worker.Worker, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = p // what a plugin of the client returned: New has no other way to tell it
		default:
			err = thrown.Error("a plugin", p)
		}
	}()
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
	return worker.New(c, taskQueue, options), nil
}
