package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A load is many calls at once, each of which the server notes in a file. A block
// has lanes that go on side by side, each a call at a time.
type load struct{ Runs, Blocks, Lanes, Calls int }

// each calls f for every call of the load.
func (l load) each(f func(line string)) {
	for run := range l.Runs {
		for block := range l.Blocks {
			for lane := range l.Lanes {
				for call := range l.Calls {
					f(line(run, block, lane, call))
				}
			}
		}
	}
}

// line is what one call writes and gets back.
func line(run, block, lane, call int) string {
	return fmt.Sprintf("run %d block %d lane %d call %d", run, block, lane, call)
}

// isRefused says which calls get their line back as the data of a refusal.
func isRefused(call int) bool { return call%5 == 0 }

// loadWorkflow makes the calls of one run and returns what it has to complain of.
func loadWorkflow(options toolset.Options) func(workflow.Context, load, int, string) ([]string, error) {
	return func(ctx workflow.Context, l load, run int, file string) (wrong []string, err error) {
		blocks := workflow.NewWaitGroup(ctx)
		for block := range l.Blocks {
			blocks.Add(1)
			workflow.Go(ctx, func(ctx workflow.Context) {
				defer blocks.Done()
				blockErr := toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
					lanes := workflow.NewWaitGroup(ctx)
					for lane := range l.Lanes {
						lanes.Add(1)
						workflow.Go(ctx, func(ctx workflow.Context) {
							defer lanes.Done()
							for call := range l.Calls {
								want, refused := line(run, block, lane, call), isRefused(call)
								got, err := lineOf(ctx, ts.CallToolAsync(ctx, fixture.Append, fixture.AppendArguments{
									File: file, Line: want, Refuse: refused,
								}), refused)
								if got != want || err != nil {
									wrong = append(wrong, fmt.Sprintf("%s: got %q, %v", want, got, err))
								}
							}
						})
					}
					lanes.Wait(ctx)
					return nil
				})
				if blockErr != nil {
					wrong = append(wrong, fmt.Sprintf("run %d block %d: %v", run, block, blockErr))
				}
			})
		}
		blocks.Wait(ctx)
		return wrong, nil
	}
}

// lineOf returns the line that a call got back, in its result or its refusal.
func lineOf(ctx workflow.Context, call workflow.Future, refused bool) (line string, err error) {
	var result *mcp.CallToolResult
	err = call.Get(ctx, &result)
	if !refused {
		return fixture.Text(result), err
	}
	details, ok := failure.MCPProtocol(err)
	if !ok {
		return "", fmt.Errorf("no refusal: %v", err)
	}
	err = json.Unmarshal(details.Data, &line)
	return line, err
}

// loadTimeout bounds a test that makes a load, which may run beside many others.
const loadTimeout = 4 * time.Minute

// carry runs a load against the hosts that are there, with during beside it until
// it is over, and checks that each call was made once and that each caller got its
// own answer.
func (b *bundle) carry(l load, options toolset.Options, during func(over <-chan struct{})) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	b.Cleanup(cancel)
	b.ctx = ctx
	b.worker(worker.Options{}, loadWorkflow(options))
	effects := b.file("effects")
	began := time.Now()
	runs := make([]client.WorkflowRun, l.Runs)
	for i := range runs {
		runs[i] = b.startAs(fmt.Sprintf("%s-%d", b.taskQueue, i), l, i, effects)
		b.Cleanup(func() { _ = b.client.TerminateWorkflow(b.ctx, runs[i].GetID(), "", "the test is over") })
	}
	over := newLatch()
	b.Cleanup(over.open)
	if during != nil {
		go during(over.opened)
	}
	for i, run := range runs {
		var wrong []string
		if err := run.Get(b.ctx, &wrong); err != nil {
			b.Fatalf("run %d: %v", i, err)
		}
		for _, w := range wrong {
			b.Error(w)
		}
	}
	over.open()
	b.toldAfter(began, "all calls were over")

	ran := make(map[string]int)
	for _, line := range b.lines(effects) {
		ran[line]++
	}
	var never, again []string
	l.each(func(line string) {
		switch n := ran[line]; {
		case n == 0:
			never = append(never, line)
		case n > 1:
			again = append(again, line)
		}
		delete(ran, line)
	})
	if len(never)+len(again)+len(ran) > 0 {
		b.Errorf("never made: %q; more than once: %q; by nobody: %v", never, again, ran)
	}
	b.wantConnects(slices.Repeat([]string{"here"}, l.Runs*l.Blocks)...)
	b.wantOpens(l.Runs * l.Blocks)
	b.wantServerGone()
}

// retried returns how many of the runs' calls took more than one attempt.
func (b *bundle) retried(l load) (n int) {
	b.Helper()
	for i := range l.Runs {
		run := b.client.GetWorkflow(b.ctx, fmt.Sprintf("%s-%d", b.taskQueue, i), "")
		for _, call := range b.activities(run, queue.OperationActivity("counter", queue.OperationCallTool)) {
			if call.started.GetAttempt() > 1 {
				n++
			}
		}
	}
	return n
}

// isBlockQueue reports whether a task queue is a block's own.
func isBlockQueue(name string) bool { return strings.Contains(name, "@") }
