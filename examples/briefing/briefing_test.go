package briefing_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/examples/briefing"
	"github.com/mcpsession/mcpsession/examples/briefing/servers"
	"github.com/mcpsession/mcpsession/examples/internal/testserver"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// testTimeout bounds every wait of a test.
const testTimeout = time.Minute

var server testserver.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

func start(t *testing.T, topic string) (briefing.Briefing, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	c := server.Dial(ctx, t)
	sessions, err := session.NewPlugin(session.Options{Servers: []session.Server{
		{Name: briefing.Library, Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return servers.Library() })},
		{Name: briefing.Rates, Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return servers.Rates() })},
	}})
	if err != nil {
		t.Fatal(err)
	}
	taskQueue := testserver.TaskQueue(t)
	w := worker.New(c, taskQueue, worker.Options{Plugins: []worker.Plugin{sessions}})
	w.RegisterWorkflow(briefing.Brief)
	testserver.Start(t, w)
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
