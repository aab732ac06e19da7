// Command worker is the worker of the HTTP example: it runs the workflows, holds
// their MCP sessions, and knows the token.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	notes "github.com/mcpsession/mcpsession/examples/http"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

func main() {
	taskQueue := flag.String("task-queue", notes.TaskQueue, "the task queue to poll")
	url := flag.String("url", "http://127.0.0.1:8990", "the `URL` of the MCP server")
	tokenFile := flag.String("token-file", "", "the `file` that has the token; it is read for each session")
	flag.Parse()
	if err := run(*taskQueue, *url, *tokenFile); err != nil {
		log.Fatalln("worker:", err)
	}
}

func run(taskQueue, url, tokenFile string) error {
	if tokenFile == "" {
		return fmt.Errorf("no token; give one by -token-file")
	}
	sessions, err := session.NewPlugin(session.Options{
		Servers: []session.Server{{
			Name:    notes.Server,
			Connect: transport.HTTP(url, transport.WithHeaders(bearer(tokenFile))),
		}},
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
	w := worker.New(c, taskQueue, worker.Options{Plugins: []worker.Plugin{sessions}})
	w.RegisterWorkflow(notes.KeepNotes)
	return w.Run(worker.InterruptCh())
}

// bearer makes the headers of a session from the token that a file has when the
// session is opened.
func bearer(tokenFile string) func(context.Context) (http.Header, error) {
	return func(context.Context) (http.Header, error) {
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, err
		}
		return http.Header{"Authorization": {"Bearer " + strings.TrimSpace(string(token))}}, nil
	}
}
