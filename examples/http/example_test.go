package http_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	notes "github.com/mcpsession/mcpsession/examples/http"
	"github.com/mcpsession/mcpsession/examples/http/notebook"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// All of it in one process: the MCP server, a worker, and who starts the workflow.
func ExampleKeepNotes() {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	const token = "a-token"
	mcpServer := httptest.NewServer(notebook.Handler(func() (string, error) { return token, nil }))
	defer mcpServer.Close()

	options, err := server.ClientOptions()
	if err != nil {
		fmt.Println(err)
		return
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.DialContext(ctx, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name: notes.Server,
		Connect: transport.HTTP(mcpServer.URL, transport.WithHeaders(
			func(context.Context) (http.Header, error) {
				return http.Header{"Authorization": {"Bearer " + token}}, nil
			})),
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := worker.New(c, "example-notes", worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterWorkflow(notes.KeepNotes)
	if err := w.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer w.Stop()

	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: "example-notes"}, notes.KeepNotes)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, note := range []string{"tea", "biscuits", ""} {
		if err := c.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), notes.NoteSignal, note); err != nil {
			fmt.Println(err)
			return
		}
	}
	var written []string
	if err := run.Get(ctx, &written); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(written)
	// Output: [tea biscuits]
}
