package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stopTimeout bounds a stop, from whatever asked for it to the end of the process. A stop takes about a second, which is
// what the frontend gives its long polls.
const stopTimeout = 15 * time.Second

// untilStopped returns a context that ends when the server is to stop: at an interrupt, a SIGTERM, the end of standard input
// if the options say so, or cancel. From then on a second signal kills the process, and so does the stop timeout, whatever
// hangs.
func untilStopped(options options) (ctx context.Context, cancel func()) {
	ctx, cancel = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if options.exitWithStdin {
		go func() {
			// Whatever ends the reading, nobody is there any more. This goroutine may outlive the server: a read of standard
			// input can't be interrupted.
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	context.AfterFunc(ctx, func() {
		cancel() // Gives signals their default effect back.
		time.AfterFunc(stopTimeout, func() {
			fmt.Fprintf(os.Stderr, "devserver: still running %v after it was asked to stop; ending without a clean stop\n", stopTimeout)
			os.Exit(exitFailed)
		})
	})
	return ctx, cancel
}
