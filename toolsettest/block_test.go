package toolsettest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/toolsettest"
)

// What DESIGN.md promises of the block, and the test that shows it with the kit:
//
//	open, and the session's answer       TestOperationsReachTheServer, TestRefusedOpening
//	a cancelled open                     TestCancelledOpening
//	a cancelled block cleans up          TestCancel
//	result or end, whichever is first    TestLossInACall, TestLossAtATime, TestLossByTime
//	a call's own word goes before it     TestLossInACall, TestCallsOwnWordInAChild
//	later operations are not scheduled   TestLossInACall
//	a loss leaves retries free           TestLossInAChild
//	what may be sent again, and is not   TestRefusalIsRepeatedWhereItMayBe
//	call timeouts, per tool              TestCallFaults, TestCallTimeoutOfATool
//	close: pending calls, twice, a loss  TestCloseWhileACallIsPending, TestCloseAgain, TestBodyErrorGoesBeforeTheLoss
//	lists, prompts, resources            TestOperationsReachTheServer
//	sizes                                TestCallFaults, TestResultOverBound
//	errors of tools and of servers       TestTools, TestCallFaults
//
// The environment has no attempts that time out, no lost answers of activities, no
// resets, no pauses and no replays, and one event a task, so it can't show: that a retry
// joins its call or gets what the ledger has, tombstones, stale instances,
// workflow-reset, eviction, that a result wins over a loss of the same task, that an
// attempt's end does not cancel its request, and the payload limit itself.

// A block that is cancelled while it opens leaves no session.
func TestCancelledOpening(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, shop())
	k.OnOpen("shop", 1).Refuse(failure.ReasonConnect, 1)
	env.RegisterDelayedCallback(env.CancelWorkflow, 500*time.Millisecond) // between two attempts
	err := run(t, env, func(ctx workflow.Context) error {
		err := inShop(ctx, func(workflow.Context, *toolset.Toolset) error { return errors.New("it opened") })
		ctx, _ = workflow.NewDisconnectedContext(ctx)
		return errors.Join(err, workflow.Sleep(ctx, time.Hour))
	})
	if !temporal.IsCanceledError(err) || len(k.Sessions()) != 0 {
		t.Errorf("%d sessions, %v", len(k.Sessions()), err)
	}
}

// A call's own failure knows whether its tool ran; in a child, too, which the kit has to
// wake, and which sees nothing of that.
func TestCallsOwnWordInAChild(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, shop())
	k.OnCall("shop", "add", 1).Lose(failure.ReasonWorkerStopped, toolsettest.BeforeItRuns)
	var call error
	child := func(ctx workflow.Context) error {
		handler := func(workflow.Context) error { return errors.New("nobody has asked for it") }
		if err := workflow.SetUpdateHandler(ctx, "other", handler); err != nil {
			return err
		}
		err := inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error {
			_, call = add(ctx, shop, "pear")
			if !workflow.AllHandlersFinished(ctx) {
				return errors.New("the update that wakes the workflow shows")
			}
			return call
		})
		if !failure.IsDedicatedWorker(err) {
			return fmt.Errorf("the block ended with %w", err)
		}
		return nil
	}
	env.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: "child"})
	err := run(t, env, func(ctx workflow.Context) error {
		return workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{}), "child").Get(ctx, nil)
	})
	if err != nil || failure.RanOf(call) != failure.RanNo {
		t.Errorf("%v, and the call failed with %v", err, call)
	}
}

// A tool's own timeout goes before the block's.
func TestCallTimeoutOfATool(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, shop())
	k.OnCall("shop", "add", 1).Slow(time.Minute)
	k.OnCall("shop", "list", 1).Slow(time.Minute)
	err := run(t, env, func(ctx workflow.Context) error {
		options := toolset.Options{Server: "shop", CallTimeout: time.Second, ToolTimeouts: map[string]time.Duration{"add": time.Hour}}
		return toolset.With(ctx, options, func(ctx workflow.Context, shop *toolset.Toolset) error {
			if _, err := add(ctx, shop, "pear"); err != nil {
				return err
			}
			_, err := shop.CallTool(ctx, "list", nil)
			return err
		})
	})
	if d, ok := failure.Call(err); !ok || d.Reason != failure.ReasonCallTimeout || d.Tool != "list" || !strings.Contains(err.Error(), "1s") {
		t.Errorf("got %v", err)
	}
}

// Close may be called again, and Ended settles without an error when it begins.
func TestCloseAgain(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	toolsettest.New(t, env, shop())
	err := run(t, env, func(ctx workflow.Context) error {
		ts, err := toolset.Open(ctx, toolset.Options{Server: "shop"})
		if err != nil {
			return err
		}
		ended := ts.Ended(ctx)
		return errors.Join(ts.Close(ctx), ts.Close(ctx), ended.Get(ctx, nil))
	})
	if err != nil {
		t.Error(err)
	}
}

// With returns the body's own error, and the loss beside it.
func TestBodyErrorGoesBeforeTheLoss(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, shop())
	k.LoseAt("shop", time.Minute, failure.ReasonWorkerStopped)
	var with error
	err := run(t, env, func(ctx workflow.Context) error {
		with = inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error {
			if err := workflow.Sleep(ctx, time.Hour); err != nil {
				return err
			}
			return errors.New("changed my mind")
		})
		return nil
	})
	if err != nil || failure.IsDedicatedWorker(with) || !strings.Contains(with.Error(), "changed my mind") || !failure.IsDedicatedWorker(toolset.CloseError(with)) {
		t.Errorf("got %v, and %v", with, err)
	}
}

// A result over the block's bound.
func TestResultOverBound(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	toolsettest.New(t, env, shop())
	err := run(t, env, func(ctx workflow.Context) error {
		return toolset.With(ctx, toolset.Options{Server: "shop", MaxResult: 100}, func(ctx workflow.Context, shop *toolset.Toolset) error {
			if _, err := add(ctx, shop, strings.Repeat("pear", 100)); err != nil {
				return err
			}
			_, err := shop.CallTool(ctx, "list", nil)
			return err
		})
	})
	if d, ok := failure.ResultTooLarge(err); !ok || d.Tool != "list" || d.Limit != 100 {
		t.Errorf("got %v", err)
	}
}

// Payloads go through the environment's own data converter, those that the kit
// completes later, too.
func TestDataConverter(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	env.SetDataConverter(converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), reversed{}))
	k := toolsettest.New(t, env, shop())
	k.OnCall("shop", "add", 1).Slow(time.Second)
	k.OnCall("shop", "add", 2).Lose(failure.ReasonReset, toolsettest.AnswerLost)
	err := run(t, env, func(ctx workflow.Context) error {
		return inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error {
			if text, err := add(ctx, shop, "pear"); err != nil || text != "1 items" {
				return fmt.Errorf("%s: %w", text, err)
			}
			_, err := add(ctx, shop, "plum")
			return err
		})
	})
	if d, ok := failure.DedicatedWorker(err); !ok || d.Reason != failure.ReasonReset || d.ToolRan != failure.RanUnknown {
		t.Errorf("got %v", err)
	}
}

// reversed is a codec that turns payloads around.
type reversed struct{}

func (reversed) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	var out []*commonpb.Payload
	for _, p := range payloads {
		data := make([]byte, 0, len(p.Data))
		for i := range p.Data {
			data = append(data, p.Data[len(p.Data)-1-i])
		}
		out = append(out, &commonpb.Payload{Metadata: p.Metadata, Data: data})
	}
	return out, nil
}

func (c reversed) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return c.Encode(payloads)
}
