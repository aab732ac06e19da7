// Command demo lets the agent shop, and prints the conversation. It starts a
// Temporal server of its own unless TEMPORAL_ADDRESS or a profile in temporal.toml
// names one.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/examples/agent"
	"github.com/mcpsession/mcpsession/examples/agent/cart"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatalln("demo:", err)
	}
}

func run(ctx context.Context) error {
	server, err := launch.Connect(ctx, launch.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	options, err := server.ClientOptions()
	if err != nil {
		return err
	}
	options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return err
	}
	defer c.Close()

	sessions, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name:    agent.Server,
		Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return cart.New() }),
	}}})
	if err != nil {
		return err
	}
	w := worker.New(c, agent.TaskQueue, worker.Options{Plugins: []worker.Plugin{sessions}})
	w.RegisterWorkflow(agent.Shop)
	w.RegisterActivityWithOptions(agent.Script, activity.RegisterOptions{Name: agent.ModelActivity})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()

	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: agent.TaskQueue}, agent.Shop,
		agent.Request{Text: "Two teas and a milk, please."})
	if err != nil {
		return err
	}
	var reply agent.Reply
	if err := run.Get(ctx, &reply); err != nil {
		return err
	}
	for _, m := range reply.Messages {
		fmt.Printf("%-9s %s", m.Role, m.Text)
		for _, call := range m.Calls {
			fmt.Printf(" %s(%v)", call.Name, call.Arguments)
		}
		fmt.Println()
	}
	return nil
}
