// Command devserver is a Temporal server in one process, for tests, examples and measurements: all services, SQLite, and
// the Web UI. It needs nothing installed and talks to nobody outside the machine.
//
// It prints one line on standard output when workflows can run on it:
//
//	devserver ready address=127.0.0.1:7233 ui=http://127.0.0.1:8233 namespaces=default
//
// and its log on standard error. It serves until an interrupt or a SIGTERM, and with -exit-with-stdin until its standard
// input ends, which is how a server never outlives the program that started it. See the package launch for a program that
// starts it.
//
// It is not for production: no authentication, one history shard, and rate limits set out of the way.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	// The ready line is read by programs, so standard output carries nothing else: the Web UI's HTTP framework logs to
	// whatever os.Stdout is when it starts.
	stdout := os.Stdout
	os.Stdout = os.Stderr

	options, err := parseOptions(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		writeUsage(stdout)
		return exitOK
	case err != nil:
		fmt.Fprintf(os.Stderr, "devserver: %v; devserver -help lists the flags\n", err)
		return exitUsage
	}
	if err := serve(options, stdout); err != nil {
		fmt.Fprintf(os.Stderr, "devserver: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// serve runs the server until something asks it to stop, and returns nil when it then stopped cleanly.
func serve(options options, ready io.Writer) error {
	ctx, cancel := untilStopped(options)
	defer cancel()

	server, err := startServer(options)
	if err != nil {
		return err
	}
	stop := func() error {
		cancel() // From now on the stop timeout counts, if it doesn't already.
		return server.stop()
	}
	if err := server.awaitReady(ctx); err != nil {
		if ctx.Err() != nil { // Asked to stop before it was ready: no failure.
			err = nil
		}
		return errors.Join(err, stop())
	}
	if _, err := fmt.Fprintln(ready, server.readyLine()); err != nil {
		return errors.Join(fmt.Errorf("cannot print the ready line: %w", err), stop())
	}
	<-ctx.Done()
	return stop()
}
