// Command worker is the worker of the stateless example: it runs the workflows and
// makes their calls. The MCP server is this program, started once more; all calls
// share the one process while it is in use.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	prices "github.com/mcpsession/mcpsession/examples/stateless"
	"github.com/mcpsession/mcpsession/examples/stateless/rates"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// serveMCP is the argument that makes this program the MCP server.
const serveMCP = "serve-mcp"

func main() {
	// So that no MCP server outlives its worker, even if that is killed.
	transport.Lifeline()

	taskQueue := flag.String("task-queue", prices.TaskQueue, "the task queue to poll")
	flag.Parse()
	var err error
	if flag.Arg(0) == serveMCP {
		err = rates.Run(context.Background())
	} else {
		err = run(*taskQueue)
	}
	if err != nil {
		log.Fatalln("worker:", err)
	}
}

func run(taskQueue string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	plugin, err := session.NewPlugin(session.Options{
		Servers: []session.Server{{
			Name:              prices.Server,
			Connect:           transport.Command(program, serveMCP),
			SharedIdleTimeout: new(time.Minute), // without a call the process goes after a minute
		}},
	})
	if err != nil {
		return err
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
	w := worker.New(c, taskQueue, worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterWorkflow(prices.Total)
	return w.Run(worker.InterruptCh())
}
