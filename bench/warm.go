package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

const (
	warmQueue = "bench-warm"
	// slowStart is how long the server of these rows takes to start.
	slowStart = 2 * time.Second
	// readyVariable names the file to which a slow server adds a byte once it serves.
	readyVariable = "MCPSESSION_BENCH_READY"
)

// measureWarm compares the opening of a server that starts slowly without and with
// sessions that are kept warm.
func measureWarm(ctx context.Context, c client.Client, rounds int) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "open\tp50\tp95\tp50 / plain activity")
	for _, warm := range []int{0, 1} {
		taken, err := openSlow(ctx, c, warm, rounds)
		if err != nil {
			return err
		}
		p50 := percentile(taken["open"], 50)
		ratio := float64(p50) / float64(percentile(taken["plain activity"], 50))
		fmt.Fprintf(table, "Warm %d\t%s\t%s\t%.2f\n", warm, millis(p50), millis(percentile(taken["open"], 95)), ratio)
	}
	return table.Flush()
}

// openSlow opens and closes a block a round, each once as many servers wait as are to
// be warm.
func openSlow(ctx context.Context, c client.Client, warm, rounds int) (samples, error) {
	directory, err := os.MkdirTemp("", "bench-warm")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	ready := filepath.Join(directory, "ready")
	connect, err := overSlowStdio(ready)
	if err != nil {
		return nil, err
	}
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{Name: "slow", Connect: connect, Warm: warm}}})
	if err != nil {
		return nil, err
	}
	taken := make(samples)
	w := worker.New(c, warmQueue, worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterActivityWithOptions(plain, activity.RegisterOptions{Name: "plain"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error { return oneOpening(ctx, taken) }, workflow.RegisterOptions{Name: "opening"})
	if err := w.Start(); err != nil {
		return nil, err
	}
	defer w.Stop()
	for round := range rounds {
		if warm > 0 {
			if err := awaitSize(ctx, ready, int64(round+warm)); err != nil {
				return nil, err
			}
		}
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: warmQueue}, "opening")
		if err != nil {
			return nil, err
		}
		if err := run.Get(ctx, nil); err != nil {
			return nil, err
		}
	}
	return taken, nil
}

func oneOpening(ctx workflow.Context, taken samples) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for range 5 { // the first of a workflow is slower
		if err := taken.time("plain activity", func() error {
			return workflow.ExecuteActivity(ctx, "plain", echo{"hello"}).Get(ctx, nil)
		}); err != nil {
			return err
		}
	}
	var ts *toolset.Toolset
	if err := taken.time("open", func() (err error) {
		ts, err = toolset.Open(ctx, toolset.Options{Server: "slow"})
		return err
	}); err != nil {
		return err
	}
	if _, err := ts.CallTool(ctx, "echo", echo{"hello"}); err != nil {
		return err
	}
	return ts.Close(ctx)
}

// awaitSize waits until a file is that large.
func awaitSize(ctx context.Context, file string, size int64) error {
	for {
		if info, err := os.Stat(file); err == nil && info.Size() >= size {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// overSlowStdio runs servers that start slowly and add a byte to a file when they
// have come through the handshake.
func overSlowStdio(ready string) (transport.Connector, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return transport.CommandWithOptions(transport.CommandOptions{Env: []string{
		roleVariable + "=slow", readyVariable + "=" + ready,
	}}, self), nil
}

// serveSlow is a server that takes its time to start.
func serveSlow() error {
	time.Sleep(slowStart)
	ready, err := os.OpenFile(os.Getenv(readyVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s := benchServer()
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if method == "notifications/initialized" {
				_, _ = io.WriteString(ready, ".")
			}
			return next(ctx, method, request)
		}
	})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}
