package tests

import (
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A session is lost before, between and during the calls of a block whose
// operations wait for their cancellation or don't: a call that is pending fails at
// once, though nobody is left to acknowledge its cancel; the others are not
// scheduled; and the run ends.
func TestLossWithEachWaitForCancellation(t *testing.T) {
	t.Parallel()
	for _, wait := range []bool{false, true} {
		for _, hostDies := range []bool{false, true} {
			for _, when := range []string{"before", "between", "during"} {
				what := map[bool]string{false: "server exits", true: "host dies"}[hostDies]
				t.Run(fmt.Sprintf("%s, %s, %v", what, when, wait), func(t *testing.T) {
					t.Parallel()
					b := setupFaults(t)
					var lose func(*drivenBlock, int)
					reason, heartbeat := failure.ReasonServerGone, longHeartbeat
					if hostDies {
						reason, heartbeat = failure.ReasonHostLost, 3*shortHeartbeat
						host := b.startHost(hostConfig{Name: "first"})
						lose = func(*drivenBlock, int) { host.Kill() }
					} else {
						b.host(worker.Options{}, session.Options{})
						lose = func(_ *drivenBlock, pid int) { _ = kill(pid) }
					}
					options := b.options(heartbeat)
					options.CallTimeout = time.Hour // so that no timeout of a call is what ends it
					options.Operation.WaitForCancellation = wait
					d := b.drive(options)
					block := d.open()
					pid := block.pid()
					arguments := fixture.BlockArguments{Began: b.file("began")}
					var pending *step
					switch when {
					case "between":
						block.must(fixture.Incr)
					case "during":
						pending = block.beginCall(fixture.Block, arguments)
						b.awaitLines(arguments.Began, 1)
					}
					lose(block, pid)
					if pending != nil {
						b.wantLoss(pending.err(), reason, failure.RanUnknown)
					}
					b.awaitSessionEnd(d.run)
					b.wantLoss(block.callUnscheduled(), reason, failure.RanNo)
					b.wantLoss(block.close(), reason, "")
					d.end(returns)
					if err := d.run.Get(b.ctx, nil); err != nil {
						t.Errorf("the run ended with %v", err)
					}
					b.awaitGone(pid)
				})
			}
		}
	}
}

// A call that waits for its cancellation returns once the server was told of it;
// one that doesn't returns at once, and the server is told all the same. Either
// way the session lives on.
func TestCancelWithEachWaitForCancellation(t *testing.T) {
	t.Parallel()
	for _, wait := range []bool{false, true} {
		t.Run(fmt.Sprint(wait), func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			b.host(worker.Options{}, session.Options{})
			arguments := fixture.BlockArguments{Began: b.file("began"), Canceled: b.file("canceled")}
			type seen struct {
				Call  fault
				Told  int // the server's word that it was told, when the call returned
				Count string
			}
			options := b.options(longHeartbeat)
			options.Operation.WaitForCancellation = wait
			w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
				err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
					callCtx, cancel := workflow.WithCancel(ctx)
					call1 := ts.CallToolAsync(callCtx, fixture.Block, arguments)
					if err := await(ctx, "it began"); err != nil {
						return err
					}
					cancel()
					got.Call = faultOf(call1.Get(ctx, nil))
					told := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: testTimeout}), "told")
					if err := told.Get(ctx, &got.Told); err != nil {
						return err
					}
					if err := await(ctx, "it was told"); err != nil {
						return err
					}
					got.Count, err = call(ctx, ts, fixture.Incr, nil)
					return err
				})
				return got, err
			})
			condition(w, "it began", func() bool { return len(b.lines(arguments.Began)) == 1 })
			condition(w, "it was told", func() bool { return len(b.lines(arguments.Canceled)) == 1 })
			activityNamed(w, "told", func() (int, error) { return len(b.lines(arguments.Canceled)), nil })
			var got seen
			if err := b.begin(client.StartWorkflowOptions{}).Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if !got.Call.Canceled || got.Count != "1" {
				t.Errorf("the call ended with %+v, the counter is %q", got.Call, got.Count)
			}
			if wait && got.Told != 1 {
				t.Error("the call returned before the server was told")
			}
		})
	}
}
