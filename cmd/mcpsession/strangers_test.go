package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// A worker of another program on the task queue can't run what the commands start.
func TestWorkerOfAnotherProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	options, err := devserver.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	c, err := client.DialContext(b.ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := worker.New(c, b.taskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(workflow.Context) error { return nil }, workflow.RegisterOptions{Name: "another"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	b.run("list").want(t, 5, b.taskQueue, "another program")
}

// A server over HTTP that keeps no state has no sessions; one call needs none.
func TestServerWithoutSessions(t *testing.T) {
	t.Parallel()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newServer() }, &mcp.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	b := setup(t)
	b.worker(b.config(`{"mcpServers": {"remote": {"type": "http", "url": "` + server.URL + `"}}}`))
	b.run("list", "remote").want(t, 0, "echo")
	b.run("list", "remote", "--prompts").want(t, 0, "greet")
	b.run("call", "remote", "echo", `{"a":1}`).want(t, 0, `{"a":1}`)
	b.run("call", "remote", "fail").want(t, 1, "there is no tea")
	b.run("call", "remote", "refuse").want(t, 3, "-32602")
}

// What a server says can't steer the terminal that it is shown on.
func TestHarmless(t *testing.T) {
	t.Parallel()
	if got := harmless("a\x1b[31mb\u009bc\td\n"); strings.ContainsAny(got, "\x1b\u009b") || !strings.Contains(got, "\td\n") {
		t.Errorf("harmless gave %q", got)
	}
	if got := firstLine("  one\ntwo"); got != "one" {
		t.Errorf("firstLine gave %q", got)
	}
	if got := firstLine(strings.Repeat("ö", 200)); len([]rune(got)) != 100 {
		t.Errorf("firstLine gave %d runes", len([]rune(got)))
	}
}
