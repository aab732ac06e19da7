// Command worker is the worker of the browser example: it runs the workflows and
// holds their MCP sessions. Each has a process and a browser of its own, or, with
// -url, a browser context of its own at an MCP server over HTTP.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/examples/browser"
	"github.com/mcpsession/mcpsession/examples/browser/playwright"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

func main() {
	// So that no browser outlives its worker, even if that is killed.
	transport.Lifeline()

	taskQueue := flag.String("task-queue", browser.TaskQueue, "the task queue to poll")
	url := flag.String("url", "", "the `URL` of an MCP server over HTTP; without it, each session starts one of its own")
	flag.Parse()
	if err := run(*taskQueue, *url); err != nil {
		log.Fatalln("worker:", err)
	}
}

func run(taskQueue, url string) (err error) {
	// What browsers write. One that is killed leaves its profile behind.
	scratch, err := os.MkdirTemp("", "browser-worker-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()

	connect, err := connector(scratch, url)
	if err != nil {
		return err
	}
	sessions, err := session.NewPlugin(session.Options{
		Servers: []session.Server{{Name: browser.Server, Connect: connect}},
	})
	if err != nil {
		return err
	}

	clientOptions, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return err
	}
	c, err := client.Dial(clientOptions)
	if err != nil {
		return fmt.Errorf("no Temporal server to be reached: start one (cd devserver && go run .) or set TEMPORAL_ADDRESS: %w", err)
	}
	defer c.Close()
	w := worker.New(c, taskQueue, worker.Options{
		Plugins: []worker.Plugin{sessions},
		// To decode a picture can take a busy machine longer than the second after
		// which a workflow is taken for one that hangs.
		DeadlockDetectionTimeout: 10 * time.Second,
	})
	w.RegisterWorkflow(browser.PlaceOrder)
	w.RegisterWorkflow(browser.Photograph)
	return w.Run(worker.InterruptCh())
}

func connector(scratch, url string) (transport.Connector, error) {
	if url != "" {
		return transport.HTTP(url), nil
	}
	installed, err := playwright.Install(context.Background())
	if err != nil {
		return nil, err
	}
	return installed.Connector(scratch), nil
}
