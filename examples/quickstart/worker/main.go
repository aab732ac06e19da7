// Command worker is the worker of the quickstart: it runs the workflows and holds
// their MCP sessions. Each session is a process of its own, for which this program
// starts itself once more as the MCP server.
//
// The two jobs can be given to different processes, as one would in production,
// where a deployment of the workflows should not end any session:
//
//	worker -role workflows
//	worker -role sessions
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/examples/quickstart"
	"github.com/mcpsession/mcpsession/examples/quickstart/scratchdb"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// serveMCP is the argument that makes this program the MCP server.
const serveMCP = "serve-mcp"

func main() {
	// So that no MCP server outlives its worker, even if that is killed.
	transport.Lifeline()

	taskQueue := flag.String("task-queue", quickstart.TaskQueue, "the task queue to poll")
	role := flag.String("role", "all", "which `part` of the work to do: workflows, sessions, or all")
	flag.Parse()

	var err error
	if flag.Arg(0) == serveMCP {
		err = scratchdb.Run(context.Background())
	} else {
		err = run(*taskQueue, *role)
	}
	if err != nil {
		log.Fatalln("worker:", err)
	}
}

func run(taskQueue, role string) error {
	sessions, err := sessionPlugin()
	if err != nil {
		return err
	}
	options := worker.Options{Plugins: []worker.Plugin{sessions}}
	switch role {
	case "all":
	case "workflows":
		options = worker.Options{LocalActivityWorkerOnly: true}
	case "sessions":
		options.DisableWorkflowWorker = true
	default:
		return fmt.Errorf("unknown role %q: use workflows, sessions or all", role)
	}

	clientOptions, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return err
	}
	c, err := client.Dial(clientOptions)
	if err != nil {
		return fmt.Errorf("no Temporal server to be reached: start one (cd devserver && go run .) or set TEMPORAL_ADDRESS: %w", err)
	}
	defer c.Close()
	w := worker.New(c, taskQueue, options)
	if role != "sessions" {
		w.RegisterWorkflow(quickstart.TopRegion)
		w.RegisterWorkflow(quickstart.Interrupted)
	}
	return w.Run(worker.InterruptCh())
}

// sessionPlugin makes a worker a host of sessions with the MCP servers named here.
func sessionPlugin() (*session.Plugin, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return session.NewPlugin(session.Options{
		Servers: []session.Server{{
			Name:    quickstart.Server,
			Connect: transport.Command(program, serveMCP),
		}},
	})
}
