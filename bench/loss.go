package main

import (
	"bufio"
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

// losses are the rows of the table: what is done to which process.
var lossRows = []struct {
	reason failure.Reason
	what   string
	bound  time.Duration
	do     func(hosts map[int]*exec.Cmd, host, mcpServer int) error
}{
	{failure.ReasonServerGone, "the MCP server is killed", time.Second,
		func(_ map[int]*exec.Cmd, _, mcpServer int) error { return kill(mcpServer, os.Kill) }},
	{failure.ReasonWorkerStopped, "the worker is stopped", time.Second,
		func(_ map[int]*exec.Cmd, host, _ int) error { return kill(host, os.Interrupt) }},
	{failure.ReasonHostLost, "the host is killed, another is alive", lossHeartbeat + firstRetry + time.Second,
		func(_ map[int]*exec.Cmd, host, _ int) error { return kill(host, os.Kill) }},
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

func measureLosses(ctx context.Context, c client.Client, environ []string, n int) (err error) {
	w := worker.New(c, lossQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(awaitLoss, workflow.RegisterOptions{Name: "loss"})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	hosts := make(map[int]*exec.Cmd)
	defer func() {
		for _, h := range hosts {
			_ = h.Process.Kill()
			_ = h.Wait()
		}
	}()
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "loss\treason\ttool ran\tp50\tlongest\ttarget")
	for _, row := range lossRows {
		var taken []time.Duration
		var last lossReport
		for range n {
			for len(hosts) < 2 {
				h, err := startHost(ctx, environ)
				if err != nil {
					return err
				}
				hosts[h.Process.Pid] = h
			}
			run, host, mcpServer, err := openToLose(ctx, c)
			if err != nil {
				return err
			}
			began := time.Now()
			if err := row.do(hosts, host, mcpServer); err != nil {
				return err
			}
			if err := run.Get(ctx, &last); err != nil {
				return err
			}
			if last.Reason != row.reason {
				return fmt.Errorf("%s: the workflow was told %q, not %q", row.what, last.Reason, row.reason)
			}
			taken = append(taken, last.At.Sub(began))
			if row.reason != failure.ReasonServerGone {
				_ = hosts[host].Wait()
				delete(hosts, host)
			}
		}
		longest := percentile(taken, 100)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t≤ %v %s\n", row.what, last.Reason, last.ToolRan,
			millis(percentile(taken, 50)), millis(longest), row.bound, verdict(longest <= row.bound))
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

// startHost starts this program as a session host, and returns once it polls.
func startHost(ctx context.Context, environ []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(append(os.Environ(), environ...), roleVariable+"=host")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("the session host did not start: %w", err)
	}
	return cmd, nil
}
