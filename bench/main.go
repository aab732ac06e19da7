// Command bench measures what a block costs beside a plain activity, and how soon
// a loss is told. Every time is given as a ratio to a plain activity of the same
// run, since machines are shared and noisy; the targets are those of DESIGN.
//
//	make bench
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/devserver/launch"
)

func main() {
	if os.Getenv(roleVariable) != "" {
		playRole()
		return
	}
	rounds := flag.Int("rounds", 200, "how often each step is measured")
	sessions := flag.Int("sessions", 50, "how many idle sessions are weighed")
	openings := flag.Int("openings", 5, "how often a server that starts slowly is opened, without and with Warm")
	losses := flag.Int("losses", 5, "how often each loss is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := registerScripts()
	if err == nil {
		err = run(ctx, *rounds, *sessions, *openings, *losses)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds, sessions, openings, losses int) (err error) {
	server, err := launch.Connect(ctx, launch.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := server.Stop(); err == nil {
			err = stopErr
		}
	}()
	options, err := server.ClientOptions()
	if err != nil {
		return err
	}
	options.Logger = quiet{}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return err
	}
	defer c.Close()

	all, stop, err := links(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for _, over := range all {
		fmt.Printf("A block, %s, %d rounds:\n\n", over.name, rounds)
		if err := measureSteps(ctx, c, over, rounds); err != nil {
			return fmt.Errorf("%s: %w", over.name, err)
		}
		fmt.Println()
	}
	fmt.Printf("An idle session, of %d at once, on its host:\n\n", sessions)
	if err := weighSessions(ctx, c, all, sessions); err != nil {
		return err
	}
	fmt.Printf("\nOpening a server over stdio that takes %v to start, %d times each:\n\n", slowStart, openings)
	if err := measureWarm(ctx, c, openings); err != nil {
		return err
	}
	fmt.Printf("\nFrom the loss to the caller's failure, heartbeat timeout %v, %d times each:\n\n", lossHeartbeat, losses)
	return measureLosses(ctx, c, server.Environ(), losses)
}

// quiet drops what the SDK logs.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
