// Command starter starts the workflows of the browser example, and prints what
// comes of them. It serves the shop that they visit, so the browser has to be on
// this machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/mcpsession/mcpsession/examples/browser"
	"github.com/mcpsession/mcpsession/examples/browser/shop"
)

func main() {
	taskQueue := flag.String("task-queue", browser.TaskQueue, "the worker's task queue")
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
	url, err := new(shop.Shop).Serve(ctx)
	if err != nil {
		return err
	}

	ordering, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue},
		browser.PlaceOrder, browser.Order{Shop: url, Name: "Ada", Cups: 3})
	if err != nil {
		return err
	}
	fmt.Printf("workflow %s has started, and waits for a worker\n", ordering.GetID())
	var receipt browser.Receipt
	if err := ordering.Get(ctx, &receipt); err != nil {
		return err
	}
	fmt.Println("the shop said:", receipt.Said)

	photographing, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue},
		browser.Photograph, url+"/wallpaper?height=1000")
	if err != nil {
		return err
	}
	var photo browser.Photo
	if err := photographing.Get(ctx, &photo); err != nil {
		return err
	}
	if photo.TooLarge != nil {
		fmt.Printf("a picture of the whole page, %d bytes, was over the limit of %d\n", photo.TooLarge.Size, photo.TooLarge.Limit)
	}
	fmt.Printf("the picture is %s of %d bytes\n", photo.MIMEType, photo.Size)
	return nil
}
