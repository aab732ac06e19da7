package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// queueVariable tells a forgetful worker its task queue.
const queueVariable = "MCPSESSION_TEST_QUEUE"

func init() { brokenRoles["forgetful worker"] = runForgetful }

// forgetfulInput is what the workflow of these tests is told.
type forgetfulInput struct {
	Blocks fixture.BlockArguments
	Effect fixture.AppendArguments
	Rounds int
	Defers bool // it closes its block in a defer, as it should not
}

// forgetful is a workflow that waits in all the ways that a block has: for calls in
// two coroutines, for the session's end, for a signal and for a timer.
func forgetful(ctx workflow.Context, in forgetfulInput) (count string, err error) {
	with := toolset.With
	if in.Defers {
		with = withDeferredClose
	}
	err = with(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		held := ts.CallToolAsync(ctx, fixture.Block, in.Blocks)
		side, settle := workflow.NewFuture(ctx)
		workflow.Go(ctx, func(ctx workflow.Context) {
			_, err := ts.CallTool(ctx, fixture.Block, in.Blocks)
			settle.Set(nil, err)
		})
		ended := ts.Ended(ctx)
		for range in.Rounds {
			if _, err := call(ctx, ts, fixture.Incr, nil); err != nil {
				return err
			}
			workflow.NewSelector(ctx).
				AddReceive(workflow.GetSignalChannel(ctx, "round"), func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil) }).
				AddFuture(ended, func(workflow.Future) {}).
				AddFuture(held, func(workflow.Future) {}).
				AddFuture(workflow.NewTimer(ctx, testTimeout), func(workflow.Future) {}).
				Select(ctx)
		}
		if _, err := call(ctx, ts, fixture.Append, in.Effect); err != nil {
			return err
		}
		if err := held.Get(ctx, nil); err != nil {
			return err
		}
		if err := side.Get(ctx, nil); err != nil {
			return err
		}
		count, err = call(ctx, ts, fixture.Get, nil)
		return err
	})
	return count, err
}

// withDeferredClose is With, but for the defer, which an eviction runs too.
func withDeferredClose(ctx workflow.Context, options toolset.Options, body func(workflow.Context, *toolset.Toolset) error) (err error) {
	ts, err := toolset.Open(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ts.Close(ctx)) }()
	return body(ctx, ts)
}

// runForgetful is a worker whose workflow cache has room for one. When it is told to
// end it stops, and says what is left of it and how often it had to begin a workflow
// from the start.
func runForgetful() {
	worker.SetStickyWorkflowCacheSize(1)
	check := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	options, err := envconfig.LoadDefaultClientOptions()
	check(err)
	options.Logger = fixture.Quiet
	c, err := client.Dial(options)
	check(err)
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{{
		Name: "counter", Connect: ownedFixture(os.Getenv(fixture.OwnerVariable)),
	}}})
	check(err)
	w := worker.New(c, os.Getenv(queueVariable), worker.Options{
		Plugins: []worker.Plugin{plugin}, DeadlockDetectionTimeout: testTimeout,
	})
	var begun atomic.Int32
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, in forgetfulInput) (string, error) {
		begun.Add(1)
		return forgetful(ctx, in)
	}, workflowOptions("test"))
	check(w.Start())
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	fmt.Println("ready")
	<-terminated
	w.Stop()
	c.Close()
	signal.Stop(terminated)
	check(goleak.Find(goleak.IgnoreAnyFunction("os/signal.loop")))
	fmt.Println("begun", begun.Load())
	os.Exit(0)
}

// Workflows are evicted from their worker's cache in the middle of their blocks,
// again and again: each goes on with its session and its state as if it had not
// been, no call is made twice, no eviction hangs, and no goroutine is left. That is so
// even if they defer Close, against its word.
func TestEvictedInABlock(t *testing.T) {
	t.Parallel()
	const runs, rounds = 6, 3
	b := setupFaults(t)
	output, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd := exec.CommandContext(b.ctx, os.Args[0])
	cmd.Env = slices.Concat(os.Environ(), server.Environ(), fixture.Environ("forgetful worker", b.taskQueue),
		[]string{queueVariable + "=" + b.taskQueue})
	cmd.Stdout, cmd.Stderr = input, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = input.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewReader(output)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the worker says %q, %v", line, err)
	}

	in := forgetfulInput{
		Blocks: fixture.BlockArguments{Began: b.file("began"), Until: b.file("until")},
		Effect: fixture.AppendArguments{File: b.file("effects"), Line: "effect"},
		Rounds: rounds,
	}
	var all []client.WorkflowRun
	for i := range runs {
		run := b.startAs(fmt.Sprint(b.taskQueue, "-", i), in)
		in.Defers = !in.Defers
		t.Cleanup(func() { _ = b.client.TerminateWorkflow(b.ctx, run.GetID(), "", "the test is over") })
		all = append(all, run)
	}
	b.awaitLines(in.Blocks.Began, 2*runs)
	for range rounds {
		for _, run := range all {
			if err := b.client.SignalWorkflow(b.ctx, run.GetID(), "", "round", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.awaitLines(in.Effect.File, runs)
	if err := os.WriteFile(in.Blocks.Until, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, run := range all {
		var count string
		if err := run.Get(b.ctx, &count); err != nil || count != fmt.Sprint(rounds) {
			t.Errorf("a run counted to %q, %v; want %d", count, err, rounds)
		}
		if n := len(b.activities(run, "mcp.counter.session")); n != 1 {
			t.Errorf("a run had %d sessions", n)
		}
	}
	if n := len(b.lines(in.Blocks.Began)); n != 2*runs {
		t.Errorf("%d held calls were made, want %d", n, 2*runs)
	}
	if n := len(b.lines(in.Effect.File)); n != runs {
		t.Errorf("%d effects were made, want %d", n, runs)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := output.SetReadDeadline(time.Now().Add(testTimeout / 2)); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatalf("the worker does not end: %v", err)
	}
	var begun int
	if _, err := fmt.Sscanf(strings.TrimSpace(string(rest)), "begun %d", &begun); err != nil || cmd.Wait() != nil {
		t.Fatalf("the worker ended with %s", rest)
	}
	if begun <= 2*runs {
		t.Errorf("%d runs were begun %d times: hardly any was evicted, and this test proves nothing", runs, begun)
	}
}
