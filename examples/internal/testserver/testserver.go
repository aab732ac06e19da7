// Package testserver runs the tests of an example against one Temporal server.
package testserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/examples/internal/program"
)

// StartTimeout is for the first build of the devserver.
const StartTimeout = 20 * time.Minute

// A Server is the Temporal server of a test binary, and the programs that its tests
// run.
type Server struct {
	*launch.Server
	// Programs is the directory of the programs that Run has built; empty for none.
	Programs string
}

// Run builds the packages named, if any, starts the server, runs the tests, and
// returns the exit status of the test binary. A goroutine that is left is a failure.
func (s *Server) Run(m *testing.M, packages ...string) (code int) {
	if err := s.run(func() { code = m.Run() }, packages); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func (s *Server) run(tests func(), packages []string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
	defer cancel()
	if len(packages) > 0 {
		if s.Programs, err = os.MkdirTemp("", "example-programs-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(s.Programs)) }()
		if said, err := program.Build(s.Programs, packages...); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, said)
		}
	}
	if s.Server, err = launch.Connect(ctx, launch.Options{}); err != nil {
		return err
	}
	tests()
	return errors.Join(s.Stop(), goleak.Find())
}

// Dial returns a client of the server that logs nothing. It is closed at the test's
// end.
func (s *Server) Dial(ctx context.Context, t testing.TB) client.Client {
	t.Helper()
	options, err := s.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.DialContext(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TaskQueue returns the name of a task queue that no other test uses.
func TaskQueue(t testing.TB) string {
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
}

// Start starts a worker, which is stopped at the test's end.
func Start(t testing.TB, w worker.Worker) worker.Worker {
	t.Helper()
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}
