package waiting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/mcpsession/mcpsession/examples/waiting"
	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
)

// wait is how long the approval takes.
const wait = 72 * time.Hour

// A mockHost stands in for a worker with sessions, which the test environment, where
// days pass in no time, can't have: it answers the activities by their names.
type mockHost struct {
	*testsuite.TestWorkflowEnvironment
	sessions [][]byte // their task tokens; nil once ended
	opened   int
	drafts   map[string]string // by instance
	calls    int
}

func newMockHost(t *testing.T) *mockHost {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	h := &mockHost{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), drafts: make(map[string]string)}
	h.SetTestTimeout(time.Minute)
	register := func(name string, f any) {
		h.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	register(queue.SessionActivity(waiting.Server), func(ctx context.Context, _ queue.SessionInput) error {
		h.sessions = append(h.sessions, activity.GetInfo(ctx).TaskToken)
		h.opened++
		return activity.ErrResultPending
	})
	operation := func(name queue.OperationName) string { return queue.OperationActivity(waiting.Server, name) }
	register(operation(queue.OperationSessionInfo), func(context.Context, queue.SessionInfo) (*queue.Info, error) {
		return &queue.Info{Instance: fmt.Sprint("instance ", h.opened), Initialize: &mcp.InitializeResult{}}, nil
	})
	register(operation(queue.OperationCallTool), func(_ context.Context, in queue.CallTool) (*queue.Result[json.RawMessage], error) {
		h.calls++
		if in.Tool == "fill" {
			h.drafts[in.Instance] = string(in.Arguments)
			return textResult("filled in"), nil
		}
		return textResult("received " + h.drafts[in.Instance]), nil
	})
	register(operation(queue.OperationCloseSession), func(context.Context, queue.CloseSession) (*queue.Closed, error) {
		h.end(nil)
		return &queue.Closed{}, nil
	})
	register(queue.StatelessActivity(waiting.Server, queue.OperationCallTool),
		func(_ context.Context, in queue.Stateless[queue.CallTool]) (*queue.Result[json.RawMessage], error) {
			h.calls++
			return textResult("received " + string(in.Operation.Arguments)), nil
		})
	h.RegisterDelayedCallback(func() { h.SignalWorkflow(waiting.Approved, nil) }, wait)
	return h
}

// end ends the last session.
func (h *mockHost) end(err error) {
	last := len(h.sessions) - 1
	if token := h.sessions[last]; token != nil {
		h.sessions[last] = nil
		_ = h.CompleteActivity(token, nil, err)
	}
}

func textResult(text string) *queue.Result[json.RawMessage] {
	raw, err := json.Marshal(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}})
	if err != nil {
		panic(err)
	}
	return &queue.Result[json.RawMessage]{Value: (*json.RawMessage)(&raw)}
}

// run runs a workflow over the days that it waits.
func (h *mockHost) run(t *testing.T, workflow any) (out waiting.Outcome) {
	t.Helper()
	began := h.Now()
	h.ExecuteWorkflow(workflow, "one")
	if err := h.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if err := h.GetWorkflowResult(&out); err != nil {
		t.Fatal(err)
	}
	if waited := h.Now().Sub(began); waited < wait {
		t.Errorf("it waited %v", waited)
	}
	if out.Receipt != `received {"text":"one"}` {
		t.Errorf("the receipt is %q", out.Receipt)
	}
	for _, token := range h.sessions {
		if token != nil {
			t.Error("a session is open")
		}
	}
	return out
}

// One session for all of it, while nothing happens to it.
func TestKeptOpen(t *testing.T) {
	t.Parallel()
	h := newMockHost(t)
	if out := h.run(t, waiting.KeepOpen); out.Drafts != 1 || h.opened != 1 {
		t.Errorf("%d drafts in %d sessions", out.Drafts, h.opened)
	}
}

// The worker ends the session when it was idle for a day. Nothing else happens until
// the approval; then the draft is made again, in another session.
func TestKeptOpenUntilIdle(t *testing.T) {
	t.Parallel()
	h := newMockHost(t)
	h.RegisterDelayedCallback(func() {
		h.end(failure.New(failure.TypeDedicatedWorker, "idle", failure.Details{Server: waiting.Server, Reason: failure.ReasonIdle}, nil))
	}, 24*time.Hour)
	h.RegisterDelayedCallback(func() {
		if h.calls != 1 || h.opened != 1 {
			t.Errorf("after two days there were %d calls in %d sessions", h.calls, h.opened)
		}
	}, 48*time.Hour)
	if out := h.run(t, waiting.KeepOpen); out.Drafts != 2 || h.opened != 2 {
		t.Errorf("%d drafts in %d sessions", out.Drafts, h.opened)
	}
}

// No session is open while it waits.
func TestReopened(t *testing.T) {
	t.Parallel()
	h := newMockHost(t)
	h.RegisterDelayedCallback(func() {
		if len(h.sessions) != 1 || h.sessions[0] != nil {
			t.Error("a session is open while the workflow waits")
		}
	}, 24*time.Hour)
	if out := h.run(t, waiting.Reopen); out.Drafts != 2 || h.opened != 2 {
		t.Errorf("%d drafts in %d sessions", out.Drafts, h.opened)
	}
}

// No session is ever open.
func TestNeverOpen(t *testing.T) {
	t.Parallel()
	h := newMockHost(t)
	if h.run(t, waiting.NeverOpen); h.opened != 0 || h.calls != 1 {
		t.Errorf("%d calls in %d sessions", h.calls, h.opened)
	}
}
