package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

const stepsQueue = "bench-steps"

// parallelCalls is how many calls one step makes at once.
const parallelCalls = 20

// samples are the times of one step.
type samples map[string][]time.Duration

func (s samples) time(step string, f func() error) error {
	// Real time in a workflow is no good for workflows, and right for a bench: no
	// task of these is ever replayed.
	began := time.Now()
	err := f()
	s[step] = append(s[step], time.Since(began))
	return err
}

// steps are the rows of the table, with the ratio that DESIGN asks for; zero for
// none.
var steps = []struct {
	name   string
	target float64
}{
	{"plain activity", 0},
	{"open", 0},
	{"call", 1.15},
	{"close", 1.5},
	{"open + call + close", 4.5},
	{"20 plain activities at once", 0},
	{"20 calls at once", 0},
	{stepBlockCalls, 0},
	{stepBlockScript, 0},
	{stepOwnBlock, 0},
	{stepOwnScript, 0},
}

// scriptEvery is how many rounds there are to one of scripts, which takes as long as
// many others.
const scriptEvery = 5

func measureSteps(ctx context.Context, c client.Client, over link, rounds int) error {
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{Name: "bench", Connect: over.connect}}})
	if err != nil {
		return err
	}
	taken := make(samples)
	w := worker.New(c, stepsQueue, worker.Options{Plugins: []worker.Plugin{plugin}})
	w.RegisterActivityWithOptions(plain, activity.RegisterOptions{Name: "plain"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error { return oneRound(ctx, taken) }, workflow.RegisterOptions{Name: "round"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error { return scriptRound(ctx, taken) }, workflow.RegisterOptions{Name: "scripts"})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	const warmUp = 10
	for i := range rounds + warmUp {
		if err := measureRound(ctx, c, "round"); err != nil {
			return err
		}
		if i%scriptEvery == 0 {
			if err := measureRound(ctx, c, "scripts"); err != nil {
				return err
			}
		}
		if i == warmUp-1 {
			clear(taken)
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "step\tp50\tp95\tp50 / plain activity\ttarget")
	base := percentile(taken["plain activity"], 50)
	for _, step := range steps {
		p50 := percentile(taken[step.name], 50)
		ratio := float64(p50) / float64(base)
		target := ""
		if step.target > 0 && over.target {
			target = fmt.Sprintf("≤ %.2f %s", step.target, verdict(ratio <= step.target))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.2f\t%s\n", step.name, millis(p50), millis(percentile(taken[step.name], 95)), ratio, target)
	}
	return table.Flush()
}

func measureRound(ctx context.Context, c client.Client, name string) error {
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: stepsQueue}, name)
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}

func oneRound(ctx workflow.Context, taken samples) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	runPlain := func() error { return workflow.ExecuteActivity(ctx, "plain", echo{"hello"}).Get(ctx, nil) }
	if err := taken.time("plain activity", runPlain); err != nil {
		return err
	}
	if err := taken.time("20 plain activities at once", func() error {
		return atOnce(ctx, func() workflow.Future { return workflow.ExecuteActivity(ctx, "plain", echo{"hello"}) })
	}); err != nil {
		return err
	}
	began := time.Now()
	var ts *toolset.Toolset
	if err := taken.time("open", func() (err error) {
		ts, err = toolset.Open(ctx, toolset.Options{Server: "bench"})
		return err
	}); err != nil {
		return err
	}
	if err := taken.time("call", func() error {
		_, err := ts.CallTool(ctx, "echo", echo{"hello"})
		return err
	}); err != nil {
		return err
	}
	soFar := time.Since(began)
	if err := taken.time("20 calls at once", func() error {
		return atOnce(ctx, func() workflow.Future { return ts.CallToolAsync(ctx, "echo", echo{"hello"}) })
	}); err != nil {
		return err
	}
	began = time.Now()
	if err := taken.time("close", func() error { return ts.Close(ctx) }); err != nil {
		return err
	}
	taken["open + call + close"] = append(taken["open + call + close"], soFar+time.Since(began))
	// The session activity's own end is not part of the next round.
	return nil
}

func atOnce(ctx workflow.Context, start func() workflow.Future) error {
	futures := make([]workflow.Future, parallelCalls)
	for i := range futures {
		futures[i] = start()
	}
	for _, f := range futures {
		if err := f.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func plain(_ context.Context, in echo) (echo, error) { return in, nil }

func percentile(d []time.Duration, p int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[(len(sorted)-1)*p/100]
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}
