package main

import (
	"context"
	"encoding/json"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolsettest"
)

func TestHeadlineOfALostBrowser(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	kit := toolsettest.New(t, env, toolsettest.Server{Name: "browser", Tools: map[string]toolsettest.Tool{
		"browser_navigate": func(ctx context.Context, arguments json.RawMessage) (any, error) { return nil, nil },
		"browser_snapshot": func(ctx context.Context, arguments json.RawMessage) (any, error) { return "Hello", nil },
	}})
	kit.OnCall("browser", "browser_snapshot", 1).Lose(failure.ReasonServerGone, toolsettest.AnswerLost)

	env.ExecuteWorkflow(Headline, "https://example.com")

	if d, lost := failure.DedicatedWorker(env.GetWorkflowError()); !lost || d.ToolRan != failure.RanUnknown {
		t.Errorf("got %v; want a lost session, and that nobody knows whether the tool ran", env.GetWorkflowError())
	}
	kit.ExpectCalls(
		toolsettest.Call{Session: 1, Tool: "browser_navigate", Arguments: []byte(`{"url":"https://example.com"}`)},
		toolsettest.Call{Session: 1, Tool: "browser_snapshot"},
	)
}
