package toolsettest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/toolsettest"
)

// The SDK's environment leaves goroutines behind: the loop of a child run that is
// retried, and an update that comes in the last task of a run.
func TestMain(m *testing.M) {
	const sdk = "go.temporal.io/sdk/internal."
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction(sdk+"(*testWorkflowEnvironmentImpl).startMainLoop"),
		goleak.IgnoreTopFunction(sdk+"(*coroutineState).initialYield"))
}

// newEnvironment returns an environment that says nothing.
func newEnvironment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	return suite.NewTestWorkflowEnvironment().SetTestTimeout(20 * time.Second)
}

// shop is a server of two tools: add puts an item into the cart, and list says what is
// in it.
func shop() toolsettest.Server {
	var mu sync.Mutex
	var cart []string
	return toolsettest.Server{Name: "shop", Tools: map[string]toolsettest.Tool{
		"add": func(_ context.Context, arguments json.RawMessage) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			cart = append(cart, string(arguments))
			return fmt.Sprint(len(cart), " items"), nil
		},
		"list": func(context.Context, json.RawMessage) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(cart, " "), nil
		},
	}}
}

type item struct {
	Item string `json:"item"`
}

// inShop runs a body in a block of the shop.
func inShop(ctx workflow.Context, body func(ctx workflow.Context, shop *toolset.Toolset) error) error {
	return toolset.With(ctx, toolset.Options{Server: "shop"}, body)
}

// add puts an item into the cart.
func add(ctx workflow.Context, shop toolset.Caller, name string) (string, error) {
	return toolset.Call[string](ctx, shop, "add", item{name})
}

// run runs a workflow to its end and returns its error.
func run(t *testing.T, env *testsuite.TestWorkflowEnvironment, w func(ctx workflow.Context) error) error {
	t.Helper()
	env.ExecuteWorkflow(w)
	if !env.IsWorkflowCompleted() {
		t.Fatal("the workflow has not ended")
	}
	return env.GetWorkflowError()
}
