// Command demo shows the workflows of the quickstart with real processes: a
// Temporal server, a worker for the workflows, and hosts for their MCP sessions,
// one of which it kills in the middle of a block. It tells what it sees, checks
// it, and exits with status 0 only if all was as it should be. It ends by itself
// and leaves nothing running.
//
// It uses the Temporal server that TEMPORAL_ADDRESS or a profile in temporal.toml
// names, or else builds and starts one, which takes minutes the first time.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/mcpsession/mcpsession/devserver/launch"
)

// limit bounds the demo once all is built.
const limit = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	begin := time.Now()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\nThe demo failed: %v\n", err)
		os.Exit(1)
	}
	say("All of it was seen and checked, and all processes have ended, after %s", seconds(time.Since(begin)))
}

// run sets the stage, has the play performed, and clears up.
func run(ctx context.Context) (err error) {
	say("A Temporal server")
	server, err := launch.Connect(ctx, launch.Options{LogOutput: indented{os.Stdout}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	c, err := dial(ctx, server)
	if err != nil {
		return err
	}
	defer c.Close()
	tell("at %s, namespace %s; started for this demo: %t", server.Address, server.Namespace, server.Embedded)

	say("The worker's program")
	tell("is being built; the first time with all of SQLite …")
	begin := time.Now()
	ps, err := newProcesses(ctx, server.Environ())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ps.stop()) }()
	tell("… built in %s", seconds(time.Since(begin)))

	limited, cancel := context.WithTimeoutCause(ps.ctx, limit, fmt.Errorf("it was not over after %v", limit))
	defer cancel()
	p := play{client: c, processes: ps, taskQueue: fmt.Sprintf("quickstart-demo-%d", time.Now().UnixNano())}
	err = p.run(limited)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		err = context.Cause(limited) // what came of it says less
	}
	return fmt.Errorf("%w\n%s", err, ps.lastWords())
}

func dial(ctx context.Context, server *launch.Server) (client.Client, error) {
	options, err := server.ClientOptions()
	if err != nil {
		return nil, err
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return client.DialContext(ctx, options)
}
