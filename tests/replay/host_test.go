package replay

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/replaytests/workflows"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// recorder is the identity of everything in a recorded history.
const recorder = "recorder"

// programsVariable tells a host where the program "counter" is.
const programsVariable = "MCPSESSION_REPLAY_PROGRAMS"

// programs returns a folder in which this binary is called by a fixed name, so that
// no recorded failure has the path of a machine.
func programs(b *bundle) string {
	b.Helper()
	folder := b.TempDir()
	executable, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink(executable, filepath.Join(folder, "counter")); err != nil {
		b.Fatal(err)
	}
	return folder
}

// servers are those of the workflows, as processes.
func servers(programs string) []session.Server {
	counter := transport.CommandWithOptions(transport.CommandOptions{
		Env:    []string{roleVariable + "=" + roleMCP, "PATH=" + programs, "GORACE=atexit_sleep_ms=0"},
		Logger: slog.New(slog.DiscardHandler),
	}, "counter")
	return []session.Server{
		{Name: workflows.Server, Connect: counter},
		{Name: workflows.Stateless, Connect: counter},
		{Name: workflows.Missing, Connect: transport.Command("mcpsession-no-such-program")},
	}
}

// runHost is a worker on the task queue of hosts, until its input ends.
func runHost() {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		fail(err)
	}
	options.Logger, options.Identity = quiet{}, recorder
	c, err := client.Dial(options)
	if err != nil {
		fail(err)
	}
	plugin, err := session.NewPlugin(session.Options{Servers: servers(os.Getenv(programsVariable))})
	if err != nil {
		fail(err)
	}
	w := worker.New(c, workflows.Hosts, worker.Options{Identity: recorder, Plugins: []worker.Plugin{plugin}})
	if err := w.Start(); err != nil {
		fail(err)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	w.Stop()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "host:", err)
	os.Exit(1)
}

// startHost starts a host in a process, and returns what kills it.
func (b *bundle) startHost() (kill func()) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), server.Environ()...), roleVariable+"="+roleHost, programsVariable+"="+b.programs)
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
	gone := make(chan struct{})
	ready := make(chan bool, 1)
	go func() {
		defer close(gone)
		lines := bufio.NewScanner(stdout)
		ready <- lines.Scan() && lines.Text() == "ready"
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
	}()
	kill = func() {
		_ = cmd.Process.Kill()
		<-gone
	}
	b.Cleanup(func() {
		kill()
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
	return kill
}

// quiet drops what the SDK logs.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
