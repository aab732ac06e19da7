package scripts

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// hostVariable configures a process in the role "host", as JSON.
const hostVariable = "MCPSESSION_SCRIPTS_HOST"

// A hostConfig is what a host process is told.
type hostConfig struct {
	TaskQueue, Owner, Connects string
	Hang                       bool   // the connector does, and never connects
	Dies                       string // where it kills itself; nowhere if empty
}

// A hostProcess is a worker that runs scripts in a process of its own, which a test
// can kill.
type hostProcess struct {
	*bundle
	cmd   *exec.Cmd
	stdin io.WriteCloser
	gone  chan struct{}
}

// startHost starts a host process with a server over stdio.
func (b *bundle) startHost() *hostProcess { b.Helper(); return b.startHostOf(hostConfig{}) }

// startHostOf starts a host process, and returns when its worker runs.
func (b *bundle) startHostOf(of hostConfig) *hostProcess {
	b.Helper()
	of.TaskQueue, of.Owner, of.Connects = b.hosts(), b.taskQueue, b.file("connects")
	config, err := json.Marshal(of)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), server.Environ()...), roleVariable+"="+roleHost, hostVariable+"="+string(config), ownerVariable+"="+b.taskQueue)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // a host ends with it: it does not outlive us
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
	h := &hostProcess{bundle: b, cmd: cmd, stdin: stdin, gone: make(chan struct{})}
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		ready <- lines.Scan() && lines.Text() == "ready"
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
		close(h.gone)
	}()
	b.Cleanup(func() {
		h.kill()
		_ = stdin.Close()
	})
	select {
	case ok := <-ready:
		if !ok {
			b.Fatal("the host did not start")
		}
	case <-b.ctx.Done():
		b.Fatal("the host is not ready")
	}
	return h
}

// kill ends the process as an out-of-memory killer does, and waits until it is gone.
func (h *hostProcess) kill() {
	_ = h.cmd.Process.Kill()
	<-h.gone
}

// runHost is the host process. It exits at once when its input ends, and after its
// worker's Stop at a line of input.
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
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(config.intercept))
	c, err := client.Dial(options)
	if err != nil {
		fail(err)
	}
	connect := overStdio(config.Owner)
	if config.Hang {
		connect = func(ctx context.Context, _ transport.Argument) (mcp.Transport, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{Name: "server", Connect: countingConnects(config.Connects, connect)}}})
	if err != nil {
		fail(err)
	}
	w := worker.New(c, config.TaskQueue, worker.Options{Plugins: []worker.Plugin{plugin}, DisableWorkflowWorker: true})
	if err := w.Start(); err != nil {
		fail(err)
	}
	fmt.Println("ready")
	if bufio.NewScanner(os.Stdin).Scan() {
		w.Stop()
	}
	os.Exit(0)
}
