package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// exitAtOnce keeps the race detector from sleeping for a second at a process's
// exit.
const exitAtOnce = "GORACE=atexit_sleep_ms=0"

// hostVariable configures a process in the role "host", as JSON.
const hostVariable = "MCPSESSION_TEST_HOST"

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

// A hostProcess is a worker with the plugin in a process of its own, which a test
// can kill.
type hostProcess struct {
	*bundle
	config hostConfig
	cmd    *exec.Cmd
	gone   chan struct{}
}

// startHost starts a host process and returns when its worker runs. It is killed
// at the test's end if the test has not done so.
func (b *bundle) startHost(config hostConfig) *hostProcess {
	b.Helper()
	config.TaskQueue, config.Owner, config.Connects = b.hosts(), b.taskQueue, b.connectsFile()
	config.Opens = b.file("opens")
	if config.Drives {
		config.TaskQueue = b.taskQueue
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		b.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(executable)
	cmd.Env = append(append(os.Environ(), server.Environ()...),
		roleVariable+"=host", hostVariable+"="+string(encoded), ownerVariable+"="+b.taskQueue, exitAtOnce)
	cmd.Stderr = &stderr
	// A host reads its input to the end and then exits: it does not outlive us.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	h := &hostProcess{bundle: b, config: config, cmd: cmd, gone: make(chan struct{})}
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() && lines.Text() != "ready" {
		}
		ready <- lines.Text() == "ready"
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
		close(h.gone)
	}()
	b.Cleanup(func() {
		h.kill()
		_ = stdin.Close()
		if b.Failed() {
			b.Logf("host %s wrote to stderr:\n%s", config.Name, &stderr)
		}
	})
	select {
	case ok := <-ready:
		if !ok {
			b.Fatalf("host %s did not start", config.Name)
		}
	case <-b.ctx.Done():
		b.Fatalf("host %s is not ready", config.Name)
	}
	return h
}

// kill ends the process as an out-of-memory killer does, and waits until it is
// gone. A stopped process goes as well.
func (h *hostProcess) kill() {
	_ = h.cmd.Process.Kill()
	<-h.gone
}

func (h *hostProcess) signal(s os.Signal) {
	h.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		h.Fatalf("send %v to host %s: %v", s, h.config.Name, err)
	}
}

// hosts is the task queue on which the hosts of a test poll.
func (b *bundle) hosts() string { return b.taskQueue + "-hosts" }

func (b *bundle) connectsFile() string { return filepath.Join(b.scratch(), "connects") }

// connects returns who has run a connector so far, in order.
func (b *bundle) connects() []string { return b.lines(b.connectsFile()) }

// runHost is the host process: it ends when it is signalled, by stopping its
// worker and then at once.
func runHost() {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
	var config hostConfig
	if err := json.Unmarshal([]byte(os.Getenv(hostVariable)), &config); err != nil {
		fail(err)
	}
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		fail(err)
	}
	options.Logger = quiet{}
	c, err := client.Dial(options)
	if err != nil {
		fail(err)
	}
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{config.server()}})
	if err != nil {
		fail(err)
	}
	w := worker.New(c, config.TaskQueue, worker.Options{
		Identity:                           config.Name,
		Plugins:                            []worker.Plugin{plugin},
		MaxConcurrentActivityExecutionSize: config.Sessions,
	})
	if config.Drives {
		w.RegisterWorkflowWithOptions(driven(everything()), workflowOptions("test"))
	}
	if err := w.Start(); err != nil {
		fail(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(2)
	}()
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	fmt.Println("ready")
	<-terminated
	w.Stop()
	os.Exit(0)
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
func ownedFixture(owner string) transport.Connector {
	return transport.CommandWithOptions(transport.CommandOptions{
		Env:          []string{roleVariable + "=mcp", ownerVariable + "=" + owner, exitAtOnce},
		Logger:       slog.New(slog.DiscardHandler),
		CloseTimeout: 10 * time.Second, // a slow exit is no fault
	}, os.Args[0])
}
