package toolsettest_test

import (
	"context"
	"fmt"
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/toolsettest"
)

func init() {
	err := session.RegisterScript("fill-cart", func(ctx context.Context, mcp *session.Conn, in []string) (int, error) {
		for _, name := range in {
			if _, err := mcp.CallTool(ctx, "add", item{name}); err != nil {
				return 0, err
			}
		}
		return len(in), nil
	})
	if err != nil {
		panic(err)
	}
}

// Scripts run on the kit's sessions, in a block and on one of their own; each of their
// calls is seen, and is what a fault is planned for.
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"block", "own"} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, lost), func(t *testing.T) {
				t.Parallel()
				env := newEnvironment()
				k := toolsettest.New(t, env, shop())
				if lost {
					k.OnCall("shop", "add", 2).Lose(failure.ReasonServerGone, toolsettest.AnswerLost)
				}
				var n int
				err := run(t, env, func(ctx workflow.Context) (err error) {
					in := []string{"pear", "plum"}
					if kind == "own" {
						n, err = toolset.RunScript[int](ctx, toolset.ScriptOptions{Server: "shop"}, "fill-cart", in)
						return err
					}
					return inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error {
						return shop.Run(ctx, "fill-cart", in, &n)
					})
				})
				switch {
				case !lost && (err != nil || n != 2):
					t.Errorf("%d items, %v", n, err)
				case lost && (err == nil || failure.RanOf(err) != failure.RanUnknown || kind == "block" != failure.IsDedicatedWorker(err)):
					t.Errorf("got %v", err)
				}
				if calls := k.CallsOf("shop", "add"); len(calls) != 2 || (calls[0].Session == 1) != (kind == "block") {
					t.Errorf("calls: %+v", calls)
				}
			})
		}
	}
}

// The opening of a script's own session is tried as often as on a worker, and no oftener
// for the kit's own sake.
func TestOpeningOfAScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		refused  int
		attempts int32
		opens    bool
	}{{0, 1, true}, {2, 0, true}, {3, 0, false}} {
		t.Run(fmt.Sprint(c.refused, c.attempts), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment()
			k := toolsettest.New(t, env, shop())
			if c.refused > 0 {
				k.OnOpen("shop", 1).Refuse(failure.ReasonConnect, c.refused)
			}
			err := run(t, env, func(ctx workflow.Context) error {
				options := toolset.ScriptOptions{Server: "shop"}
				if c.attempts > 0 {
					options.Activity.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: c.attempts}
				}
				_, err := toolset.RunScript[int](ctx, options, "fill-cart", []string{"pear"})
				return err
			})
			if d, failed := failure.Open(err); (err == nil) != c.opens || !c.opens && (!failed || d.Reason != failure.ReasonConnect) {
				t.Errorf("got %v", err)
			}
		})
	}
}
