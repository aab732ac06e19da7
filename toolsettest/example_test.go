package toolsettest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/toolsettest"
)

// Order buys an item. It begins again, once, when its session is lost and it is known
// that nothing was bought.
func Order(ctx workflow.Context, name string) (receipt string, err error) {
	for range 2 {
		err = toolset.With(ctx, toolset.Options{Server: "shop"}, func(ctx workflow.Context, shop *toolset.Toolset) (err error) {
			if _, err := toolset.Call[string](ctx, shop, "add", item{name}); err != nil {
				return err
			}
			receipt, err = toolset.Call[string](ctx, shop, "buy", nil)
			return err
		})
		if !failure.IsDedicatedWorker(err) || failure.RanOf(err) != failure.RanNo {
			break
		}
	}
	return receipt, err
}

// The example of the package's documentation.
func TestOrder(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	kit := toolsettest.New(t, env, toolsettest.Server{Name: "shop", Tools: map[string]toolsettest.Tool{
		"add": func(ctx context.Context, arguments json.RawMessage) (any, error) { return "1 item", nil },
		"buy": func(ctx context.Context, arguments json.RawMessage) (any, error) { return "thank you", nil },
	}})
	kit.OnCall("shop", "buy", 1).Lose(failure.ReasonServerGone, toolsettest.BeforeItRuns)

	env.ExecuteWorkflow(Order, "a pear")

	if err := env.GetWorkflowError(); err != nil {
		t.Error(err)
	}
	kit.ExpectCalls( // Order begins again when its session is lost
		toolsettest.Call{Session: 1, Tool: "add", Arguments: []byte(`{"item":"a pear"}`)},
		toolsettest.Call{Session: 1, Tool: "buy"},
		toolsettest.Call{Session: 2, Tool: "add"},
		toolsettest.Call{Session: 2, Tool: "buy"},
	)
}

// An answer that is lost leaves it open whether the tool ran, so that Order stops. In a
// test, t is that of the test.
func ExampleKit_OnCall() {
	t := new(exampleTest)
	defer t.end()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	kit := toolsettest.New(t, env, toolsettest.Server{Name: "shop", Tools: map[string]toolsettest.Tool{
		"add": func(context.Context, json.RawMessage) (any, error) { return "1 item", nil },
		"buy": func(context.Context, json.RawMessage) (any, error) { return "thank you", nil },
	}})
	kit.OnCall("shop", "buy", 1).Lose(failure.ReasonWorkerStopped, toolsettest.AnswerLost)

	env.ExecuteWorkflow(Order, "a pear")

	d, lost := failure.DedicatedWorker(env.GetWorkflowError())
	fmt.Println(lost, d.Reason, d.ToolRan)
	for _, call := range kit.Calls() {
		fmt.Println(call)
	}
	// Output:
	// true worker-stopped unknown
	// shop session 1: add {"item":"a pear"}
	// shop session 1: buy {}
}

// An exampleTest is a test of an example.
type exampleTest struct {
	testing.TB
	cleanups []func()
}

func (t *exampleTest) Helper()                           {}
func (t *exampleTest) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *exampleTest) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (t *exampleTest) end() {
	for _, f := range t.cleanups {
		f()
	}
}
