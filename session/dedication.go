package session

import (
	"context"

	"go.temporal.io/sdk/worker"
)

// A dedication is the last plugin of a dedicated worker. The plugins of a client
// configure every worker that is made from it, dedicated ones too, and the options
// that are handed on from the host worker hold what they did there: their
// interceptors would run twice. So it restores the options that the dedicated
// worker is to have.
type dedication struct {
	worker.PluginBase
	options  worker.Options
	handedOn bool // the options hold what the host worker's have
}

// isDedicated reports whether these are the options of a dedicated worker.
func isDedicated(options *worker.Options) bool {
	for _, p := range options.Plugins {
		if _, ok := p.(*dedication); ok {
			return true
		}
	}
	return false
}

// Name returns [PluginName].
func (*dedication) Name() string { return PluginName }

// ConfigureWorker implements [worker.Plugin].
func (d *dedication) ConfigureWorker(_ context.Context, o worker.PluginConfigureWorkerOptions) error {
	options := d.options
	options.Plugins = o.WorkerOptions.Plugins
	if !d.handedOn {
		options.Interceptors = o.WorkerOptions.Interceptors
		options.Identity = o.WorkerOptions.Identity
		options.BackgroundActivityContext = o.WorkerOptions.BackgroundActivityContext
	}
	*o.WorkerOptions = options
	return nil
}
