package crash

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
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// serverName is what workers call the MCP server.
const serverName = "counter"

// exitAtOnce keeps the race detector from sleeping for a second at a process's
// exit.
const exitAtOnce = "GORACE=atexit_sleep_ms=0"

var quiet = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))

// A hosting is what a host of sessions is told.
type hosting struct {
	Name      string // its worker's identity
	TaskQueue string
	Notes     string // the row's
	Owner     string // the row's
	URL       string // of the MCP server over HTTP; over stdio if empty

	Crash      point  // where it kills itself; nowhere if empty
	ServerHold string // the event after which its MCP server waits
	ServerFail string // the event that its MCP server fails

	ServerAlone bool // its MCP server has no process of its own
}

// server is the MCP server as a host serves it.
func (h hosting) server(c *crash) session.Server {
	return session.Server{
		Name: serverName,
		Connect: func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
			told := serving{Notes: h.Notes, Hold: h.ServerHold, Fail: h.ServerFail, Alone: h.ServerAlone}
			if err := argument.Decode(&told.Block); err != nil {
				return nil, err
			}
			if err := told.note(ctx, noteConnector, h.Name); err != nil {
				return nil, err
			}
			t, err := h.connector(told)(ctx, argument)
			if err != nil {
				return nil, err
			}
			return reached{t.(transport.Watched), c}, nil
		},
	}
}

func (h hosting) connector(told serving) transport.Connector {
	if h.URL != "" {
		return transport.HTTP(h.URL + "/mcp?" + told.encode())
	}
	return transport.CommandWithOptions(transport.CommandOptions{
		Env: []string{
			roleVariable + "=" + roleStdio, servingVariable + "=" + told.encode(),
			ownerVariable + "=" + h.Owner, exitAtOnce,
		},
		Logger:       slog.New(slog.DiscardHandler),
		CloseTimeout: 10 * time.Second, // a slow exit is no fault
	}, os.Args[0])
}

// start starts the host's worker. It runs no workflows: those outlive it.
func (h hosting) start(c client.Client, at *crash) (worker.Worker, error) {
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{h.server(at)}})
	if err != nil {
		return nil, err
	}
	w := worker.New(c, h.TaskQueue, worker.Options{
		Identity: h.Name, DisableWorkflowWorker: true, Plugins: []worker.Plugin{plugin},
		Interceptors: []interceptor.WorkerInterceptor{&finding{notes: h.Notes, host: h.Name}},
	})
	return w, w.Start()
}

// hostingVariable tells a host process what it is told, as JSON.
const hostingVariable = "MCPSESSION_CRASH_HOSTING"

// runHost is the host process. It ends by its own hand, or with its input.
func runHost() {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
	var h hosting
	if err := json.Unmarshal([]byte(os.Getenv(hostingVariable)), &h); err != nil {
		fail(err)
	}
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		fail(err)
	}
	at := &crash{point: h.Crash}
	options.Logger = quiet
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(at.intercept))
	options.Plugins = append(options.Plugins, builder{crash: at})
	c, err := client.Dial(options)
	if err != nil {
		fail(err)
	}
	go at.follow(h.Notes)
	if _, err := h.start(c, at); err != nil {
		fail(err)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(2)
}

// A process is this binary in another role.
type process struct {
	cmd   *exec.Cmd
	first string        // the first line that it wrote
	gone  chan struct{} // closed once it has ended
}

// startProcess starts this binary in a role and returns once it has written a
// line. It is gone at the test's end.
func startProcess(t *testing.T, ctx context.Context, role string, environ ...string) *process {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(append(os.Environ(), server.Environ()...), roleVariable+"="+role, exitAtOnce), environ...)
	cmd.Stderr = &stderr
	// It reads its input to the end and then exits: it does not outlive us.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, gone: make(chan struct{})}
	first := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		if lines.Scan() {
			first <- lines.Text()
		}
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
		close(p.gone)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		<-p.gone
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("the %s wrote to stderr:\n%s", role, &stderr)
		}
	})
	select {
	case p.first = <-first:
	case <-p.gone:
		t.Fatalf("the %s did not start", role)
	case <-ctx.Done():
		t.Fatalf("the %s is not ready in time", role)
	}
	return p
}

// startHost starts a host in a process of its own.
func (h hosting) startHost(t *testing.T, ctx context.Context, role string) *process {
	t.Helper()
	encoded, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return startProcess(t, ctx, role, hostingVariable+"="+string(encoded), ownerVariable+"="+h.Owner)
}

// processes returns the processes of a row that are left.
func (h hosting) processes() []int { return fixture.Owned(ownerVariable, h.Owner) }
