package soak

import (
	"fmt"
	"log/slog"
	"os"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

const (
	queueVariable = "MCPSESSION_SOAK_QUEUE"
	nameVariable  = "MCPSESSION_SOAK_NAME"
)

// The servers that blocks choose from.
var serverNames = []string{roleStdio, roleHTTP}

// runHost holds sessions until it is told to end.
func runHost() error {
	quiet := slog.New(slog.DiscardHandler)
	environ := []string{roleVariable + "=" + roleStdio}
	for _, v := range []string{ownerVariable, logVariable} {
		environ = append(environ, v+"="+os.Getenv(v))
	}
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{
		{Name: roleStdio, Connect: transport.CommandWithOptions(transport.CommandOptions{Env: environ, Logger: quiet}, os.Args[0])},
		{Name: roleHTTP, Connect: transport.HTTP("http://" + os.Getenv(addressVariable))},
	}})
	if err != nil {
		return err
	}
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return err
	}
	options.Logger = fixture.Quiet
	c, err := client.Dial(options)
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, os.Getenv(queueVariable), worker.Options{
		Plugins: []worker.Plugin{plugin}, Identity: os.Getenv(nameVariable), DisableWorkflowWorker: true,
	})
	if err := w.Start(); err != nil {
		return err
	}
	fmt.Println("ready")
	<-worker.InterruptCh()
	w.Stop()
	return nil
}
