package toolsettest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/toolsettest"
)

// A loss in each moment of a call: what the call is told, whether its tool ran, and
// what the next one is told.
func TestLossInACall(t *testing.T) {
	t.Parallel()
	for _, reason := range []failure.Reason{
		failure.ReasonServerGone, failure.ReasonWorkerStopped, failure.ReasonHostLost, failure.ReasonReset, failure.ReasonIdle,
		failure.ReasonExpired, failure.ReasonDedicatedWorker,
	} {
		for _, c := range []struct {
			name  string
			when  toolsettest.Moment
			told  failure.ToolRan // of the call
			items string          // in the cart afterwards
		}{
			{"before", toolsettest.BeforeItRuns, failure.RanNo, `{"item":"pear"}`},
			{"lost", toolsettest.AnswerLost, failure.RanUnknown, `{"item":"pear"} {"item":"plum"}`},
			{"after", toolsettest.AfterAnswer, failure.RanYes, `{"item":"pear"} {"item":"plum"}`},
		} {
			t.Run(string(reason)+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				told := c.told
				if reason == failure.ReasonHostLost && told == failure.RanNo {
					told = failure.RanUnknown
				}
				env := newEnvironment()
				k := toolsettest.New(t, env, shop())
				k.OnCall("shop", "add", 2).Lose(reason, c.when)
				var second, third error
				var left string
				var took time.Duration
				err := run(t, env, func(ctx workflow.Context) error {
					lost := inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error {
						if _, err := add(ctx, shop, "pear"); err != nil {
							return err
						}
						began := workflow.Now(ctx)
						_, second = add(ctx, shop, "plum")
						_, third = add(ctx, shop, "fig")
						took = workflow.Now(ctx).Sub(began)
						return third
					})
					if d, ok := failure.DedicatedWorker(lost); !ok || d.Reason != reason {
						return errors.New("the block has not told the loss")
					}
					return inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) (err error) {
						left, err = toolset.Call[string](ctx, shop, "list", nil)
						return err
					})
				})
				if err != nil {
					t.Fatal(err)
				}
				if ran := failure.RanOf(second); ran != told {
					t.Errorf("the call was told %q (%v); want %q", ran, second, told)
				}
				if d, ok := failure.DedicatedWorker(second); told != failure.RanYes && (!ok || d.Reason != reason || d.Host != toolsettest.Host || d.Tool != "add") {
					t.Errorf("the call failed with %+v", d)
				}
				if d, ok := failure.DedicatedWorker(third); !ok || d.Reason != reason ||
					d.ToolRan != failure.RanNo && !(reason == failure.ReasonHostLost && told == failure.RanYes) {
					t.Errorf("the next call failed with %v, %+v", third, d)
				}
				// The call after the loss was not even sent.
				if calls := k.CallsOf("shop", "add"); len(calls) != 2 || (calls[1].Err == nil) != (c.when == toolsettest.AfterAnswer) {
					t.Errorf("calls: %+v", calls)
				}
				if left != c.items {
					t.Errorf("the cart has %s; want %s", left, c.items)
				}
				if hung := took >= toolset.DefaultHeartbeatTimeout; hung != (reason == failure.ReasonHostLost) {
					t.Errorf("it was told after %v", took)
				}
				if s := k.Sessions("shop"); len(s) != 2 || s[0].Lost == nil || s[1].Lost != nil || !s[1].Ended {
					t.Errorf("sessions: %+v", s)
				}
			})
		}
	}
}

// A loss after the last call is told by the block's end.
func TestLossBeforeClose(t *testing.T) {
	t.Parallel()
	for _, reason := range []failure.Reason{failure.ReasonServerGone, failure.ReasonHostLost} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment()
			k := toolsettest.New(t, env, shop())
			k.OnCall("shop", "", 1).Lose(reason, toolsettest.AfterAnswer)
			var text string
			err := run(t, env, func(ctx workflow.Context) error {
				return inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) (err error) {
					text, err = add(ctx, shop, "pear")
					return err
				})
			})
			if d, ok := failure.DedicatedWorker(err); !ok || d.Reason != reason || text != "1 items" {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
}

// A block that waits for something else hears of a loss when it happens.
func TestLossAtATime(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, shop())
	k.LoseAt("shop", 3*time.Hour, failure.ReasonServerGone)
	var told error
	var after time.Duration
	err := run(t, env, func(ctx workflow.Context) error {
		began := workflow.Now(ctx)
		return inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error {
			workflow.NewSelector(ctx).
				AddFuture(workflow.NewTimer(ctx, 5*time.Hour), func(workflow.Future) {}).
				AddFuture(shop.Ended(ctx), func(f workflow.Future) { told = f.Get(ctx, nil) }).
				Select(ctx)
			after = workflow.Now(ctx).Sub(began)
			return nil
		})
	})
	if d, ok := failure.DedicatedWorker(told); !ok || d.Reason != failure.ReasonServerGone || after != 3*time.Hour {
		t.Errorf("told %v after %v", told, after)
	}
	if !failure.IsDedicatedWorker(err) {
		t.Errorf("the block ended with %v", err)
	}
}

// A loss at a time while a tool runs, which takes real time: its context is cancelled,
// and it is unknown whether it has done its work.
func TestLossWhileAToolRuns(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	k := toolsettest.New(t, env, toolsettest.Server{Name: "shop", Tools: map[string]toolsettest.Tool{
		"add": func(ctx context.Context, _ json.RawMessage) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}})
	k.LoseAt("shop", time.Hour, failure.ReasonServerGone)
	err := run(t, env, func(ctx workflow.Context) error {
		return inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error {
			if err := workflow.Sleep(ctx, time.Hour-500*time.Millisecond); err != nil {
				return err
			}
			_, err := add(ctx, shop, "pear")
			return err
		})
	})
	if d, ok := failure.DedicatedWorker(err); !ok || d.Reason != failure.ReasonServerGone || d.ToolRan != failure.RanUnknown {
		t.Errorf("got %v", err)
	}
}

// A session's own bounds are those of the workflow's clock.
func TestLossByTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		idle    time.Duration
		session time.Duration
		wait    time.Duration
		want    failure.Reason
	}{
		{"idle", time.Hour, 0, 61 * time.Minute, failure.ReasonIdle},
		{"not idle yet", time.Hour, 0, 59 * time.Minute, ""},
		{"expired", 0, 0, 24 * time.Hour, failure.ReasonExpired},
		{"expired, own timeout", 0, 2 * time.Hour, 2 * time.Hour, failure.ReasonExpired},
		{"not expired, own timeout", 0, 100 * time.Hour, 99 * time.Hour, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment()
			s := shop()
			s.IdleTimeout = c.idle
			toolsettest.New(t, env, s)
			err := run(t, env, func(ctx workflow.Context) error {
				options := toolset.Options{Server: "shop", Session: workflow.ActivityOptions{StartToCloseTimeout: c.session}}
				return toolset.With(ctx, options, func(ctx workflow.Context, shop *toolset.Toolset) error {
					if err := workflow.Sleep(ctx, c.wait/2); err != nil {
						return err
					}
					if _, err := add(ctx, shop, "pear"); c.idle > 0 && err != nil {
						return err
					}
					if c.idle > 0 { // which begins anew with each operation
						if err := workflow.Sleep(ctx, c.wait); err != nil {
							return err
						}
					} else if err := workflow.Sleep(ctx, c.wait/2); err != nil {
						return err
					}
					_, err := add(ctx, shop, "plum")
					return err
				})
			})
			if d, _ := failure.DedicatedWorker(err); d.Reason != c.want {
				t.Errorf("got %v; want %q", err, c.want)
			}
		})
	}
}

// A workflow that fails by a loss is retried by whoever started it: a child by its
// parent. The new run opens a new session.
func TestLossInAChild(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"call", "time", "host", "open"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment()
			k := toolsettest.New(t, env, shop())
			switch at {
			case "call":
				k.OnCall("shop", "add", 1).Lose(failure.ReasonWorkerStopped, toolsettest.BeforeItRuns)
			case "host":
				k.OnCall("shop", "add", 1).Lose(failure.ReasonHostLost, toolsettest.BeforeItRuns)
			case "time":
				k.LoseAt("shop", time.Minute, failure.ReasonServerGone)
			case "open":
				k.OnOpen("shop", 1).Refuse(failure.ReasonConnect, 2)
			}
			child := func(ctx workflow.Context) (string, error) {
				var text string
				return text, inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) (err error) {
					if at == "time" && workflow.GetInfo(ctx).Attempt == 1 {
						return shop.Ended(ctx).Get(ctx, nil)
					}
					text, err = add(ctx, shop, "pear")
					return err
				})
			}
			env.RegisterWorkflowWithOptions(child, workflow.RegisterOptions{Name: "child"})
			err := run(t, env, func(ctx workflow.Context) error {
				ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
					WorkflowID: "the child", RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2, InitialInterval: time.Second},
				})
				return workflow.ExecuteChildWorkflow(ctx, "child").Get(ctx, nil)
			})
			if err != nil {
				t.Fatal(err)
			}
			sessions, want := k.Sessions(), 2
			if at == "open" {
				want = 1
			}
			if len(sessions) != want || sessions[0].WorkflowID != "the child" {
				t.Errorf("sessions: %+v", sessions)
			}
			if calls := k.CallsOf("shop", "add"); len(calls) == 0 || calls[len(calls)-1].Session != want {
				t.Errorf("calls: %v", calls)
			}
		})
	}
}
