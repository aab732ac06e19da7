package waiting_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/testsuite"

	"github.com/mcpsession/mcpsession/examples/waiting"
	"github.com/mcpsession/mcpsession/toolsettest"
	"github.com/mcpsession/mcpsession/transport"
)

// wait is how long the approval takes.
const wait = 72 * time.Hour

type form struct {
	Text string `json:"text,omitempty"`
}

// forms is the MCP server, which keeps the draft of each session apart.
func forms(transport.Argument) *mcp.Server {
	var draft string
	server := mcp.NewServer(&mcp.Implementation{Name: waiting.Server, Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "fill"}, func(_ context.Context, _ *mcp.CallToolRequest, in form) (*mcp.CallToolResult, any, error) {
		draft = in.Text
		return text("filled in"), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "submit"}, func(_ context.Context, _ *mcp.CallToolRequest, in form) (*mcp.CallToolResult, any, error) {
		if in.Text != "" {
			draft = in.Text
		}
		return text("received " + draft), nil, nil
	})
	return server
}

func text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// A setting is a workflow over the days that it waits.
type setting struct {
	*testsuite.TestWorkflowEnvironment
	*toolsettest.Kit
}

func newSetting(t *testing.T, idle time.Duration) setting {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	kit := toolsettest.New(t, env, toolsettest.Server{Name: waiting.Server, MCP: forms, IdleTimeout: idle})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(waiting.Approved, nil) }, wait)
	return setting{env, kit}
}

// run runs a workflow to its end.
func (s setting) run(t *testing.T, workflow any) (out waiting.Outcome) {
	t.Helper()
	began := s.Now()
	s.ExecuteWorkflow(workflow, "one")
	if err := s.GetWorkflowResult(&out); err != nil {
		t.Fatal(err)
	}
	if waited := s.Now().Sub(began); waited < wait {
		t.Errorf("it waited %v", waited)
	}
	if out.Receipt != "received one" {
		t.Errorf("the receipt is %q", out.Receipt)
	}
	return out
}

// One session for all of it, while nothing happens to it.
func TestKeptOpen(t *testing.T) {
	t.Parallel()
	s := newSetting(t, 0)
	if out := s.run(t, waiting.KeepOpen); out.Drafts != 1 {
		t.Errorf("%d drafts", out.Drafts)
	}
	s.ExpectCalls(toolsettest.Call{Session: 1, Tool: "fill"}, toolsettest.Call{Session: 1, Tool: "submit"})
}

// The worker ends the session when it was idle for a day. Nothing else happens until
// the approval; then the draft is made again, in another session.
func TestKeptOpenUntilIdle(t *testing.T) {
	t.Parallel()
	s := newSetting(t, 24*time.Hour)
	s.RegisterDelayedCallback(func() {
		if sessions := s.Sessions(); len(sessions) != 1 || sessions[0].Lost == nil || len(s.Calls()) != 1 {
			t.Errorf("after two days there were the calls %v in %v", s.Calls(), sessions)
		}
	}, 48*time.Hour)
	if out := s.run(t, waiting.KeepOpen); out.Drafts != 2 {
		t.Errorf("%d drafts", out.Drafts)
	}
	s.ExpectCalls(
		toolsettest.Call{Session: 1, Tool: "fill"},
		toolsettest.Call{Session: 2, Tool: "fill"}, toolsettest.Call{Session: 2, Tool: "submit"},
	)
}

// No session is open while it waits.
func TestReopened(t *testing.T) {
	t.Parallel()
	s := newSetting(t, 0)
	s.RegisterDelayedCallback(func() {
		if sessions := s.Sessions(); len(sessions) != 1 || !sessions[0].Ended {
			t.Error("a session is open while the workflow waits")
		}
	}, 24*time.Hour)
	if out := s.run(t, waiting.Reopen); out.Drafts != 2 {
		t.Errorf("%d drafts", out.Drafts)
	}
	s.ExpectCalls(
		toolsettest.Call{Session: 1, Tool: "fill"},
		toolsettest.Call{Session: 2, Tool: "fill"}, toolsettest.Call{Session: 2, Tool: "submit"},
	)
}

// No session is ever open.
func TestNeverOpen(t *testing.T) {
	t.Parallel()
	s := newSetting(t, 0)
	s.run(t, waiting.NeverOpen)
	s.ExpectCalls(toolsettest.Call{Server: waiting.Server, Tool: "submit"})
	if sessions := s.Sessions(); len(sessions) != 0 {
		t.Errorf("sessions: %v", sessions)
	}
}
