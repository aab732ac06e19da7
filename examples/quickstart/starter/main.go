// Command starter starts the quickstart's workflow and prints its answer.
package main

import (
	"context"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/mcpsession/mcpsession/examples/quickstart"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatalln("starter:", err)
	}
}

func run(ctx context.Context) error {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return fmt.Errorf("no Temporal server to be reached: start one (cd devserver && go run .) or set TEMPORAL_ADDRESS: %w", err)
	}
	defer c.Close()

	workflow, err := c.ExecuteWorkflow(ctx,
		client.StartWorkflowOptions{TaskQueue: quickstart.TaskQueue}, quickstart.TopRegion, quickstart.Sales)
	if err != nil {
		return err
	}
	fmt.Printf("workflow %s has started, and waits for a worker\n", workflow.GetID())
	var answer quickstart.Answer
	if err := workflow.Get(ctx, &answer); err != nil {
		return err
	}
	fmt.Println(answer)
	return nil
}
