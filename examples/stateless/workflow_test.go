package stateless_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/examples/internal/program"
	"github.com/mcpsession/mcpsession/examples/internal/testserver"
	prices "github.com/mcpsession/mcpsession/examples/stateless"
	"github.com/mcpsession/mcpsession/examples/stateless/rates"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// testTimeout bounds every wait of a test.
const testTimeout = 2 * time.Minute

// The programs do what the package comment says.
func TestPrograms(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	taskQueue := testserver.TaskQueue(t)
	start := func(name string) *program.Program {
		return program.Start(ctx, t, filepath.Join(server.Programs, name), server.Environ(), "-task-queue", taskQueue)
	}
	w := start("worker")
	starter := start("starter")
	if err := starter.Wait(); err != nil {
		t.Errorf("starter: %v", err)
	}
	if want := "the total is 120.00 EUR"; !strings.Contains(starter.Output(), want) {
		t.Errorf("the starter wrote %q, not %q", starter.Output(), want)
	}
	w.Stop()
}

// Prices of different currencies are added up; what the tool says of a currency that
// it does not know fails the workflow.
func TestTotal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	c := server.Dial(ctx, t)
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name: prices.Server, Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return rates.New() }),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	taskQueue := testserver.TaskQueue(t)
	w := worker.New(c, taskQueue, worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterWorkflow(prices.Total)
	testserver.Start(t, w)

	total := func(given ...prices.Price) (total prices.Price, err error) {
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue, WorkflowExecutionTimeout: testTimeout},
			prices.Total, given, "USD")
		if err != nil {
			t.Fatal(err)
		}
		err = run.Get(ctx, &total)
		return total, err
	}
	if got, err := total(prices.Price{Amount: 1, Currency: "EUR"}, prices.Price{Amount: 2, Currency: "JPY"}); err != nil ||
		got != (prices.Price{Amount: 3, Currency: "USD"}) {
		t.Errorf("the total is %+v, %v", got, err)
	}
	if _, err := total(prices.Price{Amount: 1, Currency: "shells"}); err == nil || !strings.Contains(err.Error(), `no currency "shells"`) {
		t.Errorf("the total of shells is an error %v", err)
	}
}
