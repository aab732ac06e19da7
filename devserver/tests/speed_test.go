package tests

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
)

// The settings that make an activity and a short timer quick are the defaults, and flags win over them.
func TestDefaultsAreQuickAndFlagsWin(t *testing.T) {
	for name, test := range map[string]struct {
		workflow any
		times    int
		slow     []string // The server's own settings.
	}{
		"activity": {Steps, 60, []string{ // Half of them come after the burst that a slow server allows itself.
			"-dynamic-config", "history.transferProcessorMaxPollRPS=20",
			"-dynamic-config", "history.timerProcessorMaxPollRPS=20",
		}},
		"timer": {Naps, 5, []string{"-dynamic-config", "history.timerProcessorMaxTimeShift=1s"}},
	} {
		t.Run(name, func(t *testing.T) {
			measure := func(flags ...string) time.Duration {
				c := start(t, flags...).dial(t, client.DefaultNamespace)
				runWorker(t, c)
				took, err := runWorkflow(t, c, test.workflow, test.times)
				if err != nil {
					t.Fatal(err)
				}
				return took / time.Duration(test.times)
			}
			quick, slow := measure(), measure(test.slow...)
			t.Logf("it takes %v, at the server's own settings %v", quick, slow)
			if quick*3 > slow*2 {
				t.Errorf("it takes %v by default and %v at the server's own settings, want a clear difference", quick, slow)
			}
		})
	}
}

// runSteps runs the workflow Steps.
func runSteps(t *testing.T, c client.Client, steps int) error {
	t.Helper()
	_, err := runWorkflow(t, c, Steps, steps)
	return err
}

// runWorkflow returns how long the workflow took.
func runWorkflow(t *testing.T, c client.Client, workflow any, times int) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin := time.Now()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue}, workflow, times)
	if err != nil {
		return 0, err
	}
	err = run.Get(ctx, nil)
	return time.Since(begin), err
}

// Steps runs that many activities, one after the other.
func Steps(ctx workflow.Context, times int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:   limit,
		DisableEagerExecution: true, // The way through the task queue is what is measured.
	})
	for range times {
		if err := workflow.ExecuteActivity(ctx, Step).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// Step does nothing.
func Step(context.Context) error { return nil }

// Naps waits that many times, one after the other.
func Naps(ctx workflow.Context, times int) error {
	for range times {
		if err := workflow.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
