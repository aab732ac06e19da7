package warm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/session"
)

// hostVariable configures a process in the role of a host, as JSON.
const hostVariable = "MCPSESSION_WARM_HOST"

// A hostConfig is what a host process is told.
type hostConfig struct {
	TaskQueue, Owner string
	Serving          serving
	Warm             int
	Wrapped          bool
	DiesBefore       heartbeat.Marker // it kills itself when it is about to write this; never if empty
}

// hosts is the task queue on which the host processes of a test poll.
func (b *bundle) hosts() string { return b.taskQueue + "-hosts" }

// A hostProcess is a worker that holds sessions in a process of its own.
type hostProcess struct {
	*bundle
	cmd  *exec.Cmd
	gone chan struct{}
}

// startHost starts a host process, and returns when its worker runs.
func (b *bundle) startHost(role string, config hostConfig) *hostProcess {
	b.Helper()
	config.TaskQueue, config.Owner = b.hosts(), b.taskQueue
	told, err := json.Marshal(config)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), server.Environ()...), roleVariable+"="+role, hostVariable+"="+string(told), ownerVariable+"="+b.taskQueue)
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
	h := &hostProcess{bundle: b, cmd: cmd, gone: make(chan struct{})}
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

// runHost is the host process. It exits when its input ends.
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
	s := session.Server{Name: "server", Connect: config.Serving.connector(config.Owner), Warm: config.Warm}
	if config.Wrapped {
		s.Connect = config.Serving.wrapped(config.Owner)
	}
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{s}})
	if err != nil {
		fail(err)
	}
	w := worker.New(c, config.TaskQueue, worker.Options{Plugins: []worker.Plugin{plugin}, DisableWorkflowWorker: true})
	if err := w.Start(); err != nil {
		fail(err)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// intercept sees every call to the Temporal server.
func (config hostConfig) intercept(ctx context.Context, method string, request, reply any, on *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if beat, ok := request.(*workflowservice.RecordActivityTaskHeartbeatRequest); ok && config.DiesBefore != "" {
		var marker heartbeat.Marker
		if details := beat.GetDetails().GetPayloads(); len(details) > 0 {
			_ = converter.GetDefaultDataConverter().FromPayload(details[0], &marker)
		}
		if marker == config.DiesBefore {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // other threads may live for a moment
		}
	}
	return invoke(ctx, method, request, reply, on, options...)
}
