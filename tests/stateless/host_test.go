package stateless

import (
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A hostConfig is what a host process is told.
type hostConfig struct {
	TaskQueue, Owner, Connects string
	InMemory                   bool // else over stdio
}

// startHost starts a host process with a server over stdio.
func (b *bundle) startHost() *fixture.Process { b.Helper(); return b.startHostOf(hostConfig{}) }

// startHostOf starts a host process, and returns when its worker runs.
func (b *bundle) startHostOf(config hostConfig) *fixture.Process {
	b.Helper()
	config.TaskQueue, config.Owner, config.Connects = b.Hosts(), b.TaskQueue, b.File("connects")
	return b.StartHost(roleHost, config)
}

// newHost is the worker of a host process.
func newHost(config hostConfig, options client.Options) (worker.Worker, error) {
	connect := overStdio(config.Owner)
	if config.InMemory {
		connect = inMemory()
	}
	return fixture.SessionWorker(options, config.TaskQueue,
		session.Server{Name: "server", Connect: fixture.Counting(config.Connects, connect)})
}
