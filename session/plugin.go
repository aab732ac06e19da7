package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
)

// PluginName is the name of the [Plugin], as worker heartbeats report it.
const PluginName = "github.com/mcpsession/mcpsession/session"

// Options configure a [Plugin].
type Options struct {
	// Servers are the MCP servers that the worker holds sessions of. At least one.
	Servers []Server

	// DrainTimeout is how long a worker that is being stopped waits for its open
	// sessions to be closed by their workflows, before it fails them with reason
	// worker-stopped. It polls for nothing more meanwhile, so the workflows must be
	// able to go on on another worker; sessions that its last polls still bring are
	// passed on. Zero fails the open ones at once. Stateless calls that are under way
	// get this time to end, too, or the worker's WorkerStopTimeout if that is more.
	DrainTimeout time.Duration
}

// A Plugin makes a worker the host of MCP sessions and of stateless calls: it
// registers each server's activities on the worker that it is installed on, and ends
// the sessions, the calls and their connections when that worker stops. Install it in worker.Options.Plugins; one plugin may
// be installed on several workers.
type Plugin struct {
	worker.PluginBase

	servers []*Server
	drain   time.Duration

	mu    sync.Mutex
	hosts map[string]*host // by the worker's instance key
}

// NewPlugin returns a plugin, or an error that names what is wrong with the
// options. The options are copied.
func NewPlugin(options Options) (*Plugin, error) {
	servers, err := checkServers(options.Servers)
	if err != nil {
		return nil, err
	}
	if options.DrainTimeout < 0 {
		return nil, fmt.Errorf("session: DrainTimeout is %v; use zero to fail sessions at once", options.DrainTimeout)
	}
	return &Plugin{servers: servers, drain: options.DrainTimeout, hosts: make(map[string]*host)}, nil
}

// Name returns [PluginName].
func (p *Plugin) Name() string { return PluginName }

// ConfigureWorker keeps the worker's options, from which the dedicated workers
// get theirs. Options that a later plugin sets are seen too.
func (p *Plugin) ConfigureWorker(_ context.Context, options worker.PluginConfigureWorkerOptions) error {
	if isDedicated(options.WorkerOptions) {
		// A client plugin can bring this plugin to the dedicated workers, too.
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts[options.WorkerInstanceKey] = newHost(options.WorkerOptions)
	return nil
}

// StartWorker registers the activities and starts the worker, and then begins to
// start the sessions that are to be warm, for which it does not wait.
func (p *Plugin) StartWorker(ctx context.Context, options worker.PluginStartWorkerOptions,
	next func(context.Context, worker.PluginStartWorkerOptions) error) error {
	h := p.host(options.WorkerInstanceKey)
	if h != nil {
		for _, s := range p.servers {
			h.serve(options.WorkerRegistry, s)
		}
	}
	if err := next(ctx, options); err != nil {
		return err
	}
	if h != nil {
		h.prewarm()
	}
	return nil
}

// StopWorker ends the worker's sessions, stateless calls and warm sessions, and returns when each
// has closed its server and reported its end, whatever the worker's WorkerStopTimeout
// is. Then it stops the worker.
func (p *Plugin) StopWorker(ctx context.Context, options worker.PluginStopWorkerOptions,
	next func(context.Context, worker.PluginStopWorkerOptions)) {
	if h := p.host(options.WorkerInstanceKey); h != nil {
		h.stop(p.drain)
		p.mu.Lock()
		delete(p.hosts, options.WorkerInstanceKey)
		p.mu.Unlock()
	}
	next(ctx, options)
}

func (p *Plugin) host(workerInstanceKey string) *host {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hosts[workerInstanceKey]
}

// Register registers the activities of servers on a worker without the plugin. Prefer the plugin: without it the dedicated workers do not get the
// worker's interceptors and identity, and a worker that stops reports its lost
// sessions only if its WorkerStopTimeout leaves the time.
//
// It returns an error when a server is malformed or named twice in one call, and
// panics, as the SDK does, for a server whose activity is registered already.
func Register(registry worker.ActivityRegistry, servers ...Server) error {
	checked, err := checkServers(servers)
	if err != nil {
		return err
	}
	h := newHost(nil)
	for _, s := range checked {
		h.serve(registry, s)
	}
	return nil
}

var _ worker.Plugin = (*Plugin)(nil)
