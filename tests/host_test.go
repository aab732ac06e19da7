package tests

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// hostConfig is what a host process is told.
type hostConfig struct {
	Name      string // its worker's identity, and what it writes in Connects
	TaskQueue string
	Owner     string // the test's; see ownerVariable
	Connects  string // a file that gets a line for each run of the connector
	Opens     string // a file that gets a line for each server that is to be started

	HangConnector bool // the connector never returns
	HangConnect   bool // the transport's Connect never returns

	Gate string // the transport connects once this file is there

	// Sessions is how many sessions it takes; zero is no bound. A host that is
	// full does not poll for more.
	Sessions int

	// Calls is how many calls a session makes at once; zero is no bound.
	Calls int

	// URL is where its server is, if that is one over HTTP.
	URL string

	// Drives makes it a worker on the test's own task queue, which runs drivers
	// too. Their blocks have the options of everything.
	Drives bool
}

// everything are the options of a block whose workflow and session may share a
// worker.
func everything() toolset.Options {
	return toolset.Options{Server: "counter", Session: workflow.ActivityOptions{HeartbeatTimeout: shortHeartbeat}}
}

// startHost starts a host process and returns when its worker runs.
func (b *bundle) startHost(config hostConfig) *fixture.Process {
	b.Helper()
	config.TaskQueue, config.Owner, config.Connects = b.hosts(), b.taskQueue, b.connectsFile()
	config.Opens = b.file("opens")
	if config.Drives {
		config.TaskQueue = b.taskQueue
	}
	host := fixture.StartHost(b, b.ctx, server, "host", b.taskQueue, config)
	b.Logf("host %s is process %d", config.Name, host.Pid())
	return host
}

// hosts is the task queue on which the hosts of a test poll.
func (b *bundle) hosts() string { return b.taskQueue + "-hosts" }

func (b *bundle) connectsFile() string { return filepath.Join(b.scratch(), "connects") }

// connects returns who has run a connector so far, in order.
func (b *bundle) connects() []string { return b.lines(b.connectsFile()) }

// newHost is the worker of a host process.
func newHost(config hostConfig, options client.Options) (worker.Worker, error) {
	c, err := client.Dial(options)
	if err != nil {
		return nil, err
	}
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{config.server()}})
	if err != nil {
		return nil, err
	}
	w := worker.New(c, config.TaskQueue, worker.Options{
		Identity:                           config.Name,
		Plugins:                            []worker.Plugin{plugin},
		MaxConcurrentActivityExecutionSize: config.Sessions,
	})
	if config.Drives {
		w.RegisterWorkflowWithOptions(driven(everything()), workflowOptions("test"))
	}
	return w, nil
}

// server is the fixture as a host process serves it.
func (c hostConfig) server() session.Server {
	connect := ownedFixture(c.Owner)
	if c.URL != "" {
		connect = transport.HTTP(c.URL)
	}
	return session.Server{
		Name:               "counter",
		MaxConcurrentCalls: c.Calls,
		Connect: func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
			if err := fixture.AppendLine(c.Connects, c.Name); err != nil {
				return nil, err
			}
			if c.HangConnector {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			if c.HangConnect {
				return hanging{c.Connects, c.Name + " hangs"}, nil
			}
			t, err := connect(ctx, arg)
			if err != nil {
				return nil, err
			}
			t = noted{t.(transport.Watched), c.Opens, c.Name}
			if c.Gate != "" {
				t = late{t.(transport.Watched), c}
			}
			return t, nil
		},
	}
}

// A noted transport writes a line when it is told to connect.
type noted struct {
	transport.Watched
	file, line string
}

func (n noted) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := fixture.AppendLine(n.file, n.line); err != nil {
		return nil, err
	}
	return n.Watched.Connect(ctx)
}

// A late transport connects once its gate is there. It writes a line when it begins
// to wait.
type late struct {
	transport.Watched
	hostConfig
}

func (l late) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := fixture.AppendLine(l.Connects, l.Name+" waits"); err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(l.Gate); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return l.Watched.Connect(ctx)
}

// A hanging transport never connects. It writes a line when it is told to.
type hanging struct{ file, line string }

func (h hanging) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := fixture.AppendLine(h.file, h.line); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// ownedFixture is the fixture over stdio, in a process that is known to be one
// of the owner's.
func ownedFixture(owner string) transport.Connector { return fixture.Stdio("mcp", owner) }
