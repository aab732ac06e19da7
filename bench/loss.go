package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

const (
	lossQueue     = "bench-loss"
	lossHeartbeat = 5 * time.Second
	firstRetry    = time.Second
)

// lossRows are the rows of the table: what is done to which process, for each
// transport.
var lossRows = []struct {
	reason failure.Reason
	what   string
	bound  time.Duration
	do     func(host, mcpServer int) error
}{
	{failure.ReasonServerGone, "the MCP server is killed", time.Second,
		func(_, mcpServer int) error { return kill(mcpServer, os.Kill) }},
	{failure.ReasonWorkerStopped, "the worker is stopped", time.Second,
		func(host, _ int) error { return kill(host, os.Interrupt) }},
	{failure.ReasonHostLost, "the host is killed, another is alive", lossHeartbeat + firstRetry + time.Second,
		func(host, _ int) error { return kill(host, os.Kill) }},
}

func kill(pid int, signal os.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(signal)
}

// lossReport is what the workflow saw.
type lossReport struct {
	Reason  failure.Reason
	ToolRan failure.ToolRan
	At      time.Time
}

// processes are the ones that a loss can befall, by process ID: two hosts, and the
// server if it is over HTTP.
type processes struct {
	environ []string
	http    bool
	url     string
	hosts   map[int]*exec.Cmd
	server  *exec.Cmd
}

// complete starts what is missing.
func (p *processes) complete(ctx context.Context) (err error) {
	if p.http && p.server == nil {
		if p.server, p.url, err = startRole(ctx, "http"); err != nil {
			return err
		}
	}
	for len(p.hosts) < 2 {
		h, _, err := startRole(ctx, "host", append(p.environ, urlVariable+"="+p.url)...)
		if err != nil {
			return err
		}
		p.hosts[h.Process.Pid] = h
	}
	return nil
}

// lost notes which process a loss has ended.
func (p *processes) lost(reason failure.Reason, host int) {
	switch {
	case reason != failure.ReasonServerGone:
		_ = p.hosts[host].Wait()
		delete(p.hosts, host)
	case p.http: // the next server listens somewhere else
		p.stop()
	}
}

func (p *processes) stop() {
	for pid, h := range p.hosts {
		_ = h.Process.Kill()
		_ = h.Wait()
		delete(p.hosts, pid)
	}
	if p.server != nil {
		_ = p.server.Process.Kill()
		_ = p.server.Wait()
		p.server = nil
	}
}

func measureLosses(ctx context.Context, c client.Client, environ []string, n int) error {
	w := worker.New(c, lossQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(awaitLoss, workflow.RegisterOptions{Name: "loss"})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "transport\tloss\treason\ttool ran\tp50\tlongest\ttarget")
	for _, over := range []string{"stdio", "streamable HTTP"} {
		p := &processes{environ: environ, http: over != "stdio", hosts: make(map[int]*exec.Cmd)}
		defer p.stop()
		for _, row := range lossRows {
			var taken []time.Duration
			var last lossReport
			for range n {
				if err := p.complete(ctx); err != nil {
					return err
				}
				run, host, mcpServer, err := openToLose(ctx, c)
				if err != nil {
					return err
				}
				began := time.Now()
				if err := row.do(host, mcpServer); err != nil {
					return err
				}
				if err := run.Get(ctx, &last); err != nil {
					return err
				}
				if last.Reason != row.reason {
					return fmt.Errorf("%s: the workflow was told %q, not %q", row.what, last.Reason, row.reason)
				}
				taken = append(taken, last.At.Sub(began))
				p.lost(row.reason, host)
			}
			longest := percentile(taken, 100)
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t≤ %v %s\n", over, row.what, last.Reason, last.ToolRan,
				millis(percentile(taken, 50)), millis(longest), row.bound, verdict(longest <= row.bound))
		}
		p.stop()
	}
	return table.Flush()
}

// awaitLoss opens a block, tells who holds it, and waits in a call for its loss.
func awaitLoss(ctx workflow.Context) (report lossReport, err error) {
	var pids string
	if err := workflow.SetQueryHandler(ctx, "pids", func() (string, error) { return pids, nil }); err != nil {
		return report, err
	}
	err = toolset.With(ctx, toolset.Options{
		Server: "bench",
		Session: workflow.ActivityOptions{
			TaskQueue: lossQueue + "-hosts", HeartbeatTimeout: lossHeartbeat,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: firstRetry, MaximumAttempts: 3},
		},
	}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		result, err := ts.CallTool(ctx, "pids", nil)
		if err != nil {
			return err
		}
		waiting := ts.CallToolAsync(ctx, "wait", nil)
		pids = result.Content[0].(*mcp.TextContent).Text
		return waiting.Get(ctx, nil)
	})
	d, ok := failure.DedicatedWorker(err)
	if !ok {
		return report, errors.Join(errors.New("the block ended without a loss"), err)
	}
	return lossReport{d.Reason, d.ToolRan, time.Now()}, nil
}

// openToLose starts the workflow and returns when its call is under way.
func openToLose(ctx context.Context, c client.Client) (run client.WorkflowRun, host, mcpServer int, err error) {
	run, err = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: lossQueue}, "loss")
	if err != nil {
		return nil, 0, 0, err
	}
	for {
		var pids string
		value, err := c.QueryWorkflow(ctx, run.GetID(), run.GetRunID(), "pids")
		if err == nil {
			err = value.Get(&pids)
		}
		if err != nil {
			return nil, 0, 0, err
		}
		if h, m, ok := strings.Cut(pids, " "); ok {
			host, err = strconv.Atoi(h)
			if err != nil {
				return nil, 0, 0, err
			}
			mcpServer, err = strconv.Atoi(m)
			return run, host, mcpServer, err
		}
		select {
		case <-ctx.Done():
			return nil, 0, 0, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
