package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

const weighQueue = "bench-weigh"

// weighTarget is what an idle session may weigh besides its MCP client.
var weighTarget = weight{heap: 250 << 10, goroutines: 25}

// weight is what a process holds.
type weight struct{ heap, goroutines int64 }

func (w weight) String() string { return fmt.Sprintf("%d KB, %d goroutines", w.heap>>10, w.goroutines) }

func weighProcess() weight {
	runtime.GC()
	runtime.GC() // the first moves what sync.Pools hold to where the second frees it
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return weight{int64(m.HeapAlloc), int64(runtime.NumGoroutine())}
}

func (w weight) since(before weight, n int) weight {
	return weight{(w.heap - before.heap) / int64(n), (w.goroutines - before.goroutines) / int64(n)}
}

func weighSessions(ctx context.Context, c client.Client, all []link, n int) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "transport\tsession, with the workflow's cache\tof it the MCP client\tthe session's own\ttarget")
	for _, over := range all {
		client, err := weighClients(ctx, over, n)
		if err != nil {
			return fmt.Errorf("%s: %w", over.name, err)
		}
		whole, err := weighBlocks(ctx, c, over, n)
		if err != nil {
			return fmt.Errorf("%s: %w", over.name, err)
		}
		own := weight{whole.heap - client.heap, whole.goroutines - client.goroutines}
		target := ""
		if over.target {
			target = fmt.Sprintf("≤ %v %s", weighTarget, verdict(own.heap <= weighTarget.heap && own.goroutines <= weighTarget.goroutines))
		}
		fmt.Fprintf(table, "%s\t%v\t%v\t%v\t%s\n", over.name, whole, client, own, target)
	}
	return table.Flush()
}

// weighClients weighs n MCP clients, and their servers if those are in memory,
// without Temporal.
func weighClients(ctx context.Context, over link, n int) (weight, error) {
	before := weighProcess()
	var sessions []*mcp.ClientSession
	defer func() {
		for _, s := range sessions {
			_ = s.Close()
		}
	}()
	for range n {
		t, err := over.connect(ctx, nil)
		if err != nil {
			return weight{}, err
		}
		s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, t, nil)
		if err != nil {
			return weight{}, err
		}
		sessions = append(sessions, s)
	}
	return weighProcess().since(before, n), nil
}

// weighBlocks weighs n open blocks.
func weighBlocks(ctx context.Context, c client.Client, over link, n int) (weight, error) {
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{Name: "bench", Connect: over.connect}}})
	if err != nil {
		return weight{}, err
	}
	opened := make(chan struct{}, n)
	w := worker.New(c, weighQueue, worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		return toolset.With(ctx, toolset.Options{Server: "bench"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			if _, err := ts.CallTool(ctx, "echo", echo{"hello"}); err != nil {
				return err
			}
			opened <- struct{}{}
			workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
			return nil
		})
	}, workflow.RegisterOptions{Name: "idle"})
	if err := w.Start(); err != nil {
		return weight{}, err
	}
	defer w.Stop()

	open := func(n int) ([]client.WorkflowRun, error) {
		var runs []client.WorkflowRun
		for range n {
			run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: weighQueue}, "idle")
			if err != nil {
				return nil, err
			}
			runs = append(runs, run)
		}
		for range n {
			select {
			case <-opened:
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Minute):
				return nil, fmt.Errorf("not all of %d blocks opened in a minute", n)
			}
		}
		return runs, nil
	}
	end := func(runs []client.WorkflowRun) error {
		for _, run := range runs {
			if err := c.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), "end", nil); err != nil {
				return err
			}
		}
		for _, run := range runs {
			if err := run.Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	}
	// The first block pays for what all share.
	first, err := open(1)
	if err != nil {
		return weight{}, err
	}
	before := weighProcess()
	runs, err := open(n)
	if err != nil {
		return weight{}, err
	}
	weighed := weighProcess().since(before, n)
	return weighed, end(append(runs, first...))
}
