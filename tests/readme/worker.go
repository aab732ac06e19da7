package main

import (
	"log"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

func main() {
	transport.Lifeline() // first: no process of a server outlives this one, however it ends

	plugin, err := session.NewPlugin(session.Options{
		Servers: []session.Server{{
			Name:    "browser",
			Connect: transport.Command("npx", "-y", "@playwright/mcp", "--headless"),
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	c, err := client.Dial(envconfig.MustLoadDefaultClientOptions())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	w := worker.New(c, "agents", worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterWorkflow(Headline)
	if err := w.Run(worker.InterruptCh()); err != nil {
		log.Fatal(err)
	}
}
