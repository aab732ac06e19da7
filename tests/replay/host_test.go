package replay

import (
	"log/slog"
	"os"
	"path/filepath"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/replaytests/workflows"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// recorder is the identity of everything in a recorded history.
const recorder = "recorder"

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
		Env:    append(fixture.Environ(roleMCP, ""), "PATH="+programs),
		Logger: slog.New(slog.DiscardHandler),
	}, "counter")
	return []session.Server{
		{Name: workflows.Server, Connect: counter},
		{Name: workflows.Stateless, Connect: counter},
		{Name: workflows.Missing, Connect: transport.Command("mcpsession-no-such-program")},
	}
}

// newHost is the worker of a host process, which is told where the program "counter"
// is.
func newHost(programs string, options client.Options) (worker.Worker, error) {
	options.Identity = recorder
	return fixture.SessionWorker(options, workflows.Hosts, servers(programs)...)
}
