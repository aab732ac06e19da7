// Command devserver-build builds the devserver into the user's cache directory, where the package launch takes it from, and
// prints its path. Run it before tests that need a server: the first build takes about seven minutes, longer than a test
// may like to wait.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/mcpsession/mcpsession/devserver/launch"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	program, err := launch.Build(ctx, os.Stderr)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "devserver-build:", err)
		os.Exit(1)
	}
	fmt.Println(program)
}
