// Command server is Playwright MCP over HTTP, with one browser for all sessions.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpsession/mcpsession/examples/browser/playwright"
)

func main() {
	port := flag.Int("port", 8931, "the port of localhost to listen on; 0 is any")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *port); err != nil && ctx.Err() == nil {
		log.Fatalln("server:", err)
	}
}

func run(ctx context.Context, port int) (err error) {
	scratch, err := os.MkdirTemp("", "browser-server-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	installed, err := playwright.Install(ctx)
	if err != nil {
		return err
	}
	server, err := installed.Serve(ctx, scratch, port, os.Stderr)
	if err != nil {
		return err
	}
	return server.Wait()
}
