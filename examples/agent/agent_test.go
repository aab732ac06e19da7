package agent_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/examples/agent"
	"github.com/mcpsession/mcpsession/examples/agent/cart"
	"github.com/mcpsession/mcpsession/examples/internal/testserver"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// testTimeout bounds every wait of a test.
const testTimeout = time.Minute

var server testserver.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// A shop is what a test has to itself: a worker for workflows and the model.
type shop struct {
	*testing.T
	ctx       context.Context
	client    client.Client
	taskQueue string
}

func open(t *testing.T, model func(context.Context, agent.Turn) (agent.Message, error)) *shop {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	c := server.Dial(ctx, t)
	s := &shop{t, ctx, c, testserver.TaskQueue(t)}
	w := worker.New(c, s.taskQueue, worker.Options{})
	w.RegisterWorkflow(agent.Shop)
	w.RegisterActivityWithOptions(model, activity.RegisterOptions{Name: agent.ModelActivity})
	testserver.Start(t, w)
	return s
}

// host starts a worker that holds carts.
func (s *shop) host() worker.Worker {
	s.Helper()
	sessions, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name:    agent.Server,
		Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return cart.New() }),
	}}})
	if err != nil {
		s.Fatal(err)
	}
	return testserver.Start(s, worker.New(s.client, s.taskQueue+"-carts", worker.Options{
		DisableWorkflowWorker: true, Plugins: []worker.Plugin{sessions},
	}))
}

func (s *shop) shop() (reply agent.Reply, err error) {
	s.Helper()
	run, err := s.client.ExecuteWorkflow(s.ctx, client.StartWorkflowOptions{
		ID: s.taskQueue, TaskQueue: s.taskQueue, WorkflowExecutionTimeout: testTimeout,
	}, agent.Shop, agent.Request{Text: "Two teas and a milk, please.", Sessions: s.taskQueue + "-carts"})
	if err != nil {
		return reply, err
	}
	return reply, run.Get(s.ctx, &reply)
}

// The model is given the tools with their schemas, and its calls reach one cart.
func TestShop(t *testing.T) {
	t.Parallel()
	var offered []agent.ToolSpec
	s := open(t, func(ctx context.Context, turn agent.Turn) (agent.Message, error) {
		offered = turn.Tools
		return agent.Script(ctx, turn)
	})
	s.host()
	reply, err := s.shop()
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != "The cart has 3 things for 10." || reply.Losses != 0 {
		t.Errorf("the reply is %+v", reply)
	}
	if len(offered) != 2 || offered[0].Name != "cart_add" || !strings.Contains(fmt.Sprint(offered[0].InputSchema), "tea, milk or bread") {
		t.Errorf("the model was offered %+v", offered)
	}
}

// In the middle of a turn the cart's host is stopped. The model is told, and fills
// another cart, from which nothing of the first one is missing or double.
func TestShopLosesItsCart(t *testing.T) {
	t.Parallel()
	asksForTotal, stopped := make(chan struct{}), make(chan struct{})
	lost := false
	s := open(t, func(ctx context.Context, turn agent.Turn) (agent.Message, error) {
		said, err := agent.Script(ctx, turn)
		if len(said.Calls) == 1 && !lost {
			lost = true
			close(asksForTotal)
			<-stopped
		}
		return said, err
	})
	first := s.host()
	go func() {
		defer close(stopped)
		select {
		case <-asksForTotal:
		case <-s.ctx.Done():
		}
		first.Stop()
		s.host()
	}()
	reply, err := s.shop()
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != "The cart has 3 things for 10." {
		t.Errorf("the reply is %+v", reply)
	}
	told := false
	for _, m := range reply.Messages {
		told = told || m.Role == "system" && strings.Contains(m.Text, "lost")
	}
	if reply.Losses != 1 || !told {
		t.Errorf("%d losses, the model was told: %t", reply.Losses, told)
	}
}

// A model that asks for what is not there is told so, and goes on.
func TestShopWithAConfusedModel(t *testing.T) {
	t.Parallel()
	turns := 0
	s := open(t, func(_ context.Context, turn agent.Turn) (agent.Message, error) {
		if turns++; turns == 1 {
			return agent.Message{Role: "assistant", Calls: []agent.ToolCall{
				{ID: "1", Name: "buy"}, {ID: "2", Name: "cart_add", Arguments: map[string]any{"item": "gold", "count": 1}},
			}}, nil
		}
		return agent.Message{Role: "assistant", Text: turn.Messages[len(turn.Messages)-2].Text + "; " + turn.Messages[len(turn.Messages)-1].Text}, nil
	})
	s.host()
	reply, err := s.shop()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`no tool "buy"`, `there is no "gold"`} {
		if !strings.Contains(reply.Text, want) {
			t.Errorf("the model was told %q, want %q", reply.Text, want)
		}
	}
}
