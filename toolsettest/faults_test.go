package toolsettest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/toolsettest"
)

// Each fault of a call, of a session's and of a stateless one: the failure's type and
// reason, whether the tool ran as the failure has it, and whether it did.
func TestCallFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		plan   func(*toolsettest.CallFault)
		check  func(error) bool
		told   failure.ToolRan
		ran    bool
		lasted time.Duration
	}{
		{"tool error", func(f *toolsettest.CallFault) { f.ToolError("sold out") },
			func(err error) bool {
				e, ok := failure.ToolOf(err)
				return ok && e.Text == "sold out" && e.Server == "shop"
			}, failure.RanYes, false, 0},
		{"protocol error", func(f *toolsettest.CallFault) { f.ProtocolError(-32602, "no such item") },
			func(err error) bool {
				d, ok := failure.MCPProtocol(err)
				return ok && d.Code == -32602 && strings.Contains(err.Error(), "no such item")
			}, failure.RanUnknown, false, 0},
		{"unauthorized", func(f *toolsettest.CallFault) { f.Refuse(failure.ReasonUnauthorized) }, reason(failure.Call, failure.ReasonUnauthorized), failure.RanNo, false, 0},
		{"rejected", func(f *toolsettest.CallFault) { f.Refuse(failure.ReasonRejected) }, reason(failure.Call, failure.ReasonRejected), failure.RanNo, false, 0},
		{"too large", func(f *toolsettest.CallFault) { f.TooLarge() }, failure.IsResultTooLarge, failure.RanYes, true, 0},
		{"slow", func(f *toolsettest.CallFault) { f.Slow(50 * time.Second) }, func(err error) bool { return err == nil }, failure.RanYes, true, 50 * time.Second},
		{"too slow", func(f *toolsettest.CallFault) { f.Slow(time.Hour) }, reason(failure.Call, failure.ReasonCallTimeout), failure.RanUnknown, true, time.Minute},
	} {
		for _, kind := range []string{"session", "stateless"} {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment()
				k := toolsettest.New(t, env, shop())
				c.plan(k.OnCall("shop", "add", 1))
				var first error
				var items string
				var took time.Duration
				calls := func(ctx workflow.Context, shop toolset.Caller) (err error) {
					began := workflow.Now(ctx)
					_, first = add(ctx, shop, "pear")
					took = workflow.Now(ctx).Sub(began)
					items, err = toolset.Call[string](ctx, shop, "list", nil) // it lives on
					return err
				}
				err := run(t, env, func(ctx workflow.Context) error {
					if kind == "session" {
						return inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error { return calls(ctx, shop) })
					}
					client, err := stateless.New(ctx, stateless.Options{Server: "shop"})
					if err != nil {
						return err
					}
					return calls(ctx, client)
				})
				if err != nil {
					t.Fatal(err)
				}
				if !c.check(first) || failure.RanOf(first) != c.told || took != c.lasted {
					t.Errorf("after %v: %v (ran: %s)", took, first, failure.RanOf(first))
				}
				if ran := items != ""; ran != c.ran {
					t.Errorf("the cart has %q", items)
				}
				if calls := k.Calls(); len(calls) != 2 || (calls[0].Err != nil) != (first != nil && !failure.IsTool(first)) {
					t.Errorf("calls: %+v", calls)
				}
			})
		}
	}
}

func reason(of func(error) (failure.Details, bool), want failure.Reason) func(error) bool {
	return func(err error) bool { d, ok := of(err); return ok && d.Reason == want }
}

// What may be sent again is, with the same rules as on a worker; each time is a call.
func TestRefusalIsRepeatedWhereItMayBe(t *testing.T) {
	t.Parallel()
	for _, repeatable := range []bool{true, false} {
		t.Run(fmt.Sprint(repeatable), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment()
			k := toolsettest.New(t, env, shop())
			k.OnCall("shop", "add", 1).Refuse(failure.ReasonGateway)
			err := run(t, env, func(ctx workflow.Context) error {
				options := toolset.Options{Server: "shop", Repeatable: map[string]bool{"add": repeatable}}
				return toolset.With(ctx, options, func(ctx workflow.Context, shop *toolset.Toolset) error {
					_, err := add(ctx, shop, "pear")
					return err
				})
			})
			if repeatable {
				if calls := k.CallsOf("shop", "add"); err != nil || len(calls) != 2 || calls[1].Result == nil {
					t.Errorf("%v, calls %+v", err, calls)
				}
			} else if d, ok := failure.Call(err); !ok || d.Reason != failure.ReasonGateway || d.ToolRan != failure.RanUnknown {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A stateless call whose server or host is gone.
func TestLossOfAStatelessCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		reason failure.Reason
		when   toolsettest.Moment
		want   failure.Reason // empty if the call succeeds in the end
		told   failure.ToolRan
		calls  int
	}{
		{"server gone, before", failure.ReasonServerGone, toolsettest.BeforeItRuns, "", failure.RanYes, 2},
		{"server gone, answer lost", failure.ReasonServerGone, toolsettest.AnswerLost, failure.ReasonServerGone, failure.RanUnknown, 1},
		{"host lost", failure.ReasonHostLost, toolsettest.AnswerLost, failure.ReasonHostLost, failure.RanUnknown, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment()
			k := toolsettest.New(t, env, shop())
			k.OnCall("shop", "add", 1).Lose(c.reason, c.when)
			var first error
			err := run(t, env, func(ctx workflow.Context) error {
				client, err := stateless.New(ctx, stateless.Options{Server: "shop"})
				if err != nil {
					return err
				}
				_, first = add(ctx, client, "pear")
				_, err = toolset.Call[string](ctx, client, "list", nil)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if d, _ := failure.Call(first); d.Reason != c.want || failure.RanOf(first) != c.told {
				t.Errorf("got %v", first)
			}
			if calls := k.CallsOf("shop", "add"); len(calls) != c.calls || calls[0].Session != 0 {
				t.Errorf("calls: %+v", calls)
			}
		})
	}
}

// A server that can't be opened: how often it is tried, and what Open says. The
// environment's pauses between attempts do not grow, unless a policy bounds them.
func TestRefusedOpening(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason failure.Reason
		times  int
		opens  bool
		lasts  time.Duration
	}{
		{failure.ReasonConnect, 2, true, 2 * time.Second},
		{failure.ReasonConnect, 3, false, 2 * time.Second},
		{failure.ReasonUnavailable, 1, true, time.Second},
		{failure.ReasonSessionless, 1, false, 0},
		{"executable-not-found", 1, false, 0},
		{failure.ReasonUnauthorized, 1, false, 0},
		{failure.ReasonNoHost, 1, false, 0},
		{failure.ReasonUnknownServer, 1, false, 0},
		{failure.ReasonHostLost, 1, false, toolset.DefaultHeartbeatTimeout},
		{failure.ReasonWorkerStopped, 3, true, 2 * time.Second},
	} {
		t.Run(fmt.Sprint(c.reason, c.times), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment()
			k := toolsettest.New(t, env, shop())
			k.OnOpen("shop", 1).Refuse(c.reason, c.times)
			var took time.Duration
			err := run(t, env, func(ctx workflow.Context) error {
				began := workflow.Now(ctx)
				ts, err := toolset.Open(ctx, toolset.Options{Server: "shop"})
				took = workflow.Now(ctx).Sub(began)
				if err != nil {
					return err
				}
				return ts.Close(ctx)
			})
			if c.opens && err != nil {
				t.Error(err)
			}
			if d, ok := failure.Open(err); !c.opens && (!ok || d.Reason != c.reason || failure.RanOf(err) != failure.RanNo) {
				t.Errorf("got %v", err)
			}
			if c.reason == failure.ReasonHostLost && !failure.IsDedicatedWorker(err) {
				t.Errorf("the loss is not told: %v", err)
			}
			if took != c.lasts {
				t.Errorf("it took %v; want %v", took, c.lasts)
			}
			if n := len(k.Sessions()); (n == 1) != c.opens {
				t.Errorf("%d sessions were opened", n)
			}
		})
	}
}

// A stateless call for which no connection can be opened is tried again, or not.
func TestRefusedOpeningOfAStatelessCall(t *testing.T) {
	t.Parallel()
	for reason, want := range map[failure.Reason]error{failure.ReasonUnavailable: nil, failure.ReasonForbidden: errors.New("it is for good")} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment()
			k := toolsettest.New(t, env, shop())
			k.OnOpen("shop", 1).Refuse(reason, 1)
			err := run(t, env, func(ctx workflow.Context) error {
				client, err := stateless.New(ctx, stateless.Options{Server: "shop"})
				if err != nil {
					return err
				}
				_, err = add(ctx, client, "pear")
				return err
			})
			if (err == nil) != (want == nil) || err != nil && failure.RanOf(err) != failure.RanNo {
				t.Errorf("got %v; want %v", err, want)
			}
		})
	}
}
