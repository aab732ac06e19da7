// Command starter starts the workflow of the HTTP example, sends it notes, and
// prints what is written in the end.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	notes "github.com/mcpsession/mcpsession/examples/http"
)

func main() {
	taskQueue := flag.String("task-queue", notes.TaskQueue, "the worker's task queue")
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

	workflow, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue}, notes.KeepNotes)
	if err != nil {
		return err
	}
	fmt.Printf("workflow %s has started, and waits for a worker\n", workflow.GetID())
	for _, note := range []string{"tea", "biscuits", ""} {
		if err := c.SignalWorkflow(ctx, workflow.GetID(), workflow.GetRunID(), notes.NoteSignal, note); err != nil {
			return err
		}
	}
	var written []string
	if err := workflow.Get(ctx, &written); err != nil {
		return err
	}
	fmt.Println("the notebook has:", written)
	return nil
}
