package briefing_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/examples/briefing"
	"github.com/mcpsession/mcpsession/examples/briefing/servers"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

const (
	startTimeout = 20 * time.Minute // for the first build of the devserver
	testTimeout  = time.Minute
)

var server *launch.Server

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	if server, err = launch.Connect(ctx, launch.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func start(t *testing.T, topic string) (briefing.Briefing, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	options, err := server.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.DialContext(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	sessions, err := session.NewPlugin(session.Options{Servers: []session.Server{
		{Name: briefing.Library, Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return servers.Library() })},
		{Name: briefing.Rates, Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return servers.Rates() })},
	}})
	if err != nil {
		t.Fatal(err)
	}
	taskQueue := fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano())
	w := worker.New(c, taskQueue, worker.Options{Plugins: []worker.Plugin{sessions}})
	w.RegisterWorkflow(briefing.Brief)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue, WorkflowExecutionTimeout: testTimeout}, briefing.Brief, topic, 8.0)
	if err != nil {
		t.Fatal(err)
	}
	var b briefing.Briefing
	err = run.Get(ctx, &b)
	return b, err
}

func TestBrief(t *testing.T) {
	t.Parallel()
	b, err := start(t, "tea")
	if err != nil {
		t.Fatal(err)
	}
	if b.Topic != "tea" || !slices.Equal(b.Notes, []string{"Tea grows in Assam."}) ||
		b.Prompt != "Summarise what is known of tea." || b.Price != 4 || b.Unknown != "USD can't be converted to XXX" {
		t.Errorf("the briefing is %+v", b)
	}
}

func TestBriefOnSeveralTopics(t *testing.T) {
	t.Parallel()
	_, err := start(t, "te")
	if err == nil || !strings.Contains(err.Error(), "2 topics") {
		t.Errorf("error %v, want one that says that there are two", err)
	}
}
