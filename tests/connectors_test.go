package tests

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// The argument of a block reaches its connector, digits and all, which chooses
// the server by it.
func TestArgumentReachesTheConnector(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type tenant struct {
		Name string `json:"name"`
		ID   int64  `json:"id"`
	}
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []string, err error) {
		for _, argument := range []any{tenant{"a", 9007199254740993}, &tenant{"b", 1}, map[string]any{"name": "c", "id": 2}} {
			err := toolset.With(ctx, toolset.Options{Server: "tenants", Argument: argument}, func(ctx workflow.Context, ts *toolset.Toolset) error {
				text, err := call(ctx, ts, "who", nil)
				got = append(got, text)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		return got, nil
	}, session.Server{Name: "tenants", Connect: transport.InMemory(func(arg transport.Argument) *mcp.Server {
		var of tenant
		if err := arg.Decode(&of); err != nil {
			panic(err)
		}
		return serverOf("who", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return texts("%s %d", of.Name, of.ID), nil
		})
	})})
	var got []string
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a 9007199254740993", "b 1", "c 2"} {
		if got[i] != want {
			t.Errorf("block %d has the server of %q, want %q", i, got[i], want)
		}
	}
}

// An argument that the connector can't use is told once, and by name.
func TestArgumentThatTheConnectorRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		argument any
		words    []string
	}{
		"none":       {nil, []string{"no argument", "toolset.Options.Argument"}},
		"wrong type": {"tenant-7", []string{"argument", "struct"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			f, _ := b.failToOpen(toolset.Options{Server: "tenants", Argument: test.argument}, session.Server{
				Name: "tenants",
				Connect: func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
					var of struct{ Name string }
					if err := arg.Decode(&of); err != nil {
						return nil, err
					}
					return transport.InMemory(func(transport.Argument) *mcp.Server { return fixture.New() })(ctx, arg)
				},
			})
			checkOpenFailure(t, f, "tenants", "bad-argument", test.words...)
			sessions := b.activities(b.client.GetWorkflow(b.ctx, b.taskQueue, ""), "mcp.tenants.session")
			if attempt := sessions[0].started.GetAttempt(); attempt != 1 {
				t.Errorf("it took %d attempts", attempt)
			}
		})
	}
}

// The version that a server is asked for is the user's to choose, and Info tells
// what came of it.
func TestProtocolVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := inMemory("counter", fixture.New)
			s.ProtocolVersion = version
			info, _, _ := setup(t).opened(worker.Options{}, s)
			if got := info.Initialize.ProtocolVersion; got != version {
				t.Errorf("asked for %s, negotiated %s", version, got)
			}
		})
	}
}

// A session activity that somebody schedules by hand and without a heartbeat
// timeout, under which a lost host would stay unknown, is refused; so is one whose
// run is another than its own.
func TestSessionActivityScheduledByHand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	connected := newLatch()
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []fault, err error) {
		runID := workflow.GetInfo(ctx).WorkflowExecution.RunID
		for _, by := range []struct {
			heartbeat time.Duration
			runID     string
		}{{0, runID}, {30 * time.Second, "another"}} {
			ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
				StartToCloseTimeout: testTimeout, HeartbeatTimeout: by.heartbeat, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2},
			})
			err := workflow.ExecuteActivity(ctx, queue.SessionActivity("counter"), queue.SessionInput{RunID: by.runID, Key: "k"}).Get(ctx, nil)
			got = append(got, faultOf(err))
		}
		return got, nil
	}, session.Server{Name: "counter", Connect: transport.InMemory(func(transport.Argument) *mcp.Server {
		connected.open()
		return fixture.New()
	})})
	var got []fault
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if f := got[0]; f.Type != failure.TypeOpen || f.Details.Reason != failure.ReasonBadInput || !f.Final {
		t.Errorf("without a heartbeat timeout it ended with %+v", f)
	}
	mentions(t, got[0].Text, "heartbeat timeout", "toolset")
	if f := got[1]; f.Type != failure.TypeDedicatedWorker || f.Details.Reason != failure.ReasonWorkflowReset || !f.Final {
		t.Errorf("with another run it ended with %+v", f)
	}
	mentions(t, got[1].Text, "another")
	if connected.isOpen() {
		t.Error("a server was started")
	}
}
