// Command starter starts the workflow of the stateless example and prints its answer.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	prices "github.com/mcpsession/mcpsession/examples/stateless"
)

func main() {
	taskQueue := flag.String("task-queue", prices.TaskQueue, "the worker's task queue")
	flag.Parse()
	if err := run(context.Background(), *taskQueue); err != nil {
		log.Fatalln("starter:", err)
	}
}

func run(ctx context.Context, taskQueue string) error {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return fmt.Errorf("no Temporal server to be reached: start one (cd devserver && go run .) or set TEMPORAL_ADDRESS: %w", err)
	}
	defer c.Close()

	workflow, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue}, prices.Total,
		[]prices.Price{{Amount: 10, Currency: "EUR"}, {Amount: 20, Currency: "USD"}, {Amount: 400, Currency: "JPY"}}, "EUR")
	if err != nil {
		return err
	}
	fmt.Printf("workflow %s has started, and waits for a worker\n", workflow.GetID())
	var total prices.Price
	if err := workflow.Get(ctx, &total); err != nil {
		return err
	}
	fmt.Printf("the total is %.2f %s\n", total.Amount, total.Currency)
	return nil
}
