package launch_test

import (
	"context"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/devserver/launch"
)

// A program that runs against the user's server, or against one of its own where there is none.
func Example() {
	server, err := launch.Connect(context.Background(), launch.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Stop()

	options, err := server.ClientOptions()
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.Dial(options)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Println("connected to", server.Address)
}
