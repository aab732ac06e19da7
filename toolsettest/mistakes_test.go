package toolsettest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/toolsettest"
	"github.com/mcpsession/mcpsession/transport"
)

// A judged is a test of somebody else's, which the kit may fail.
type judged struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (j *judged) Helper() {}
func (j *judged) Errorf(format string, a ...any) {
	j.failures = append(j.failures, fmt.Sprintf(format, a...))
}
func (j *judged) Fatalf(format string, a ...any) { j.Errorf(format, a...); runtime.Goexit() }
func (j *judged) Cleanup(f func())               { j.cleanups = append(j.cleanups, f) }

// judge runs a test to its end, cleanups and all, and returns what it failed by.
func judge(t *testing.T, test func(t testing.TB)) []string {
	j := &judged{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, f := range j.cleanups {
				f()
			}
		}()
		test(j)
	}()
	<-done
	return j.failures
}

// What is wrong with a test is said by the test's own failure, which names it.
func TestMistakesFailTheTest(t *testing.T) {
	t.Parallel()
	open := func(ctx workflow.Context) error {
		ts, err := toolset.Open(ctx, toolset.Options{Server: "shop"})
		if err != nil {
			return err
		}
		_, err = add(ctx, ts, "pear")
		return err
	}
	closed := func(ctx workflow.Context) error {
		return inShop(ctx, func(ctx workflow.Context, shop *toolset.Toolset) error {
			_, err := add(ctx, shop, "pear")
			return err
		})
	}
	without := func(ctx workflow.Context) error {
		client, err := stateless.New(ctx, stateless.Options{Server: "shop"})
		if err != nil {
			return err
		}
		_, err = add(ctx, client, "pear")
		return err
	}
	noTools := map[string]toolsettest.Tool{}
	tool := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
	mcpServer := func(transport.Argument) *mcp.Server { return nil }
	for _, c := range []struct {
		name    string
		servers []toolsettest.Server
		plan    func(*toolsettest.Kit)
		run     func(workflow.Context) error
		check   func(*toolsettest.Kit)
		want    []string // in the failures, of which there are as many; none is a test that passes
	}{
		{name: "nothing wrong", run: closed},
		{name: "not closed", run: open, want: []string{`session 1 of server "shop" was not closed: workflow default-test-workflow-id opened it, and has made 1 call, of add in it`}},
		{name: "not closed, and it need not be", run: open, plan: func(k *toolsettest.Kit) { k.AllowOpen() }},
		{name: "fault of a later call", run: closed, plan: func(k *toolsettest.Kit) { k.OnCall("shop", "add", 2).ToolError("x") },
			want: []string{`the fault of call 2 of tool "add" of server "shop" was planned and did not happen; such calls: 1`}},
		{name: "fault of another tool", run: closed, plan: func(k *toolsettest.Kit) { k.OnCall("shop", "drop", 1).ToolError("x") },
			want: []string{`tool "drop" of server "shop" was planned and did not happen; such calls: 0`}},
		{name: "fault without effect", run: closed, plan: func(k *toolsettest.Kit) { k.OnCall("shop", "add", 1) }, want: []string{"has no effect; call Lose"}},
		{name: "two faults of a call", run: closed, plan: func(k *toolsettest.Kit) {
			k.OnCall("shop", "add", 1).Slow(time.Second)
			k.OnCall("shop", "", 1).Slow(time.Second)
		}, want: []string{"another fault was planned for the same call"}},
		{name: "loss of a stateless call", run: without, plan: func(k *toolsettest.Kit) {
			k.OnCall("shop", "add", 1).Lose(failure.ReasonIdle, toolsettest.BeforeItRuns)
		}, want: []string{"the call is stateless, and has no session to lose"}},
		{name: "loss at a time", run: closed, plan: func(k *toolsettest.Kit) { k.LoseAt("shop", time.Hour, failure.ReasonIdle) },
			want: []string{`the loss (idle) that was planned for the sessions of server "shop" at 1h0m0s did not happen`}},
		{name: "refusal", run: closed, plan: func(k *toolsettest.Kit) { k.OnOpen("shop", 2).Refuse(failure.ReasonConnect, 2) },
			want: []string{`of the refusals (connect) of attempts 2 to 3 to open server "shop", 2 did not happen; attempts: 1`}},
		{name: "refusal without effect", run: closed, plan: func(k *toolsettest.Kit) { k.OnOpen("shop", 1) }, want: []string{"call Refuse on it"}},
		{name: "other calls", run: closed, check: func(k *toolsettest.Kit) {
			k.ExpectCalls(toolsettest.Call{Tool: "add", Arguments: []byte(`{"item":"plum"}`)}, toolsettest.Call{Tool: "list"})
		}, want: []string{"expected:\n> 1. add {\"item\":\"plum\"}\n  2. list\ngot:\n> 1. shop session 1: add {\"item\":\"pear\"}"}},
		{name: "a workflow", run: closed, check: func(k *toolsettest.Kit) { k.ExpectCalls(toolsettest.Call{WorkflowID: "another"}) }, want: []string{`call 1 was made by workflow "default-test-workflow-id", not "another"`}},
		{name: "no JSON", run: closed, check: func(k *toolsettest.Kit) { k.ExpectCalls(toolsettest.Call{Arguments: []byte("{")}) }, want: []string{"arguments of call 1 are no JSON"}},
		{name: "calls and none", run: closed, check: func(k *toolsettest.Kit) { k.ExpectCalls() }, want: []string{"expected: none\ngot:\n> 1. shop"}},
		{name: "other server", plan: func(k *toolsettest.Kit) { k.OnCall("browser", "", 1) }, want: []string{`there is no server "browser"; New was given shop`}},
		{name: "calls of another server", plan: func(k *toolsettest.Kit) { k.Calls("browser") }, want: []string{`there is no server "browser"`}},
		{name: "call zero", plan: func(k *toolsettest.Kit) { k.OnCall("shop", "", 0) }, want: []string{"the call is 0; they are counted from 1"}},
		{name: "no loss", plan: func(k *toolsettest.Kit) {
			k.OnCall("shop", "", 1).Lose(failure.ReasonUnauthorized, toolsettest.AnswerLost)
		},
			want: []string{`the reason "unauthorized" is none of this fault; use one of host-lost`, "has no effect"}},
		{name: "no refusal", plan: func(k *toolsettest.Kit) { k.OnCall("shop", "", 1).Refuse(failure.ReasonIdle) },
			want: []string{`the reason "idle" is none of this fault; use one of forbidden`, "has no effect"}},
		{name: "two effects", plan: func(k *toolsettest.Kit) {
			f := k.OnCall("shop", "", 1)
			f.TooLarge()
			f.Slow(time.Second)
		}, want: []string{"has an effect already", "did not happen"}},
		{name: "no servers", servers: []toolsettest.Server{}, want: []string{"no server given"}},
		{name: "no name", servers: []toolsettest.Server{{Tools: noTools}}, want: []string{"is empty"}},
		{name: "bad name", servers: []toolsettest.Server{{Name: "a b", Tools: noTools}}, want: []string{"' '"}},
		{name: "neither", servers: []toolsettest.Server{{Name: "a"}}, want: []string{"neither MCP nor Tools"}},
		{name: "both", servers: []toolsettest.Server{{Name: "a", Tools: noTools, MCP: mcpServer}}, want: []string{"both MCP and Tools"}},
		{name: "twice", servers: []toolsettest.Server{{Name: "a", Tools: noTools}, {Name: "a", Tools: noTools}}, want: []string{`server "a" is given twice`}},
		{name: "nil tool", servers: []toolsettest.Server{{Name: "a", Tools: map[string]toolsettest.Tool{"x": nil, "y": tool}}}, want: []string{`tool "x"`}},
		{name: "idle below zero", servers: []toolsettest.Server{{Name: "a", Tools: noTools, IdleTimeout: -1}}, want: []string{"IdleTimeout is -1ns"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := judge(t, func(tb testing.TB) {
				env := newEnvironment()
				if c.servers == nil {
					c.servers = []toolsettest.Server{shop()}
				}
				k := toolsettest.New(tb, env, c.servers...)
				if c.plan != nil {
					c.plan(k)
				}
				if c.run != nil {
					if err := run(t, env, c.run); err != nil {
						t.Error(err)
					}
				}
				if c.check != nil {
					c.check(k)
				}
			})
			if len(got) != len(c.want) {
				t.Fatalf("the test failed by %q; want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) || !strings.HasPrefix(got[i], "toolsettest: ") {
					t.Errorf("the test failed by %q; want %q", got[i], want)
				}
			}
		})
	}
}

// A server that can't be made is told to the workflow, as on a worker.
func TestServerThatIsNone(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	toolsettest.New(t, env, toolsettest.Server{Name: "shop", MCP: func(transport.Argument) *mcp.Server { return nil }})
	err := run(t, env, func(ctx workflow.Context) error {
		return inShop(ctx, func(workflow.Context, *toolset.Toolset) error { return errors.New("it opened") })
	})
	if d, ok := failure.Open(err); !ok || d.Reason != "no-server" {
		t.Errorf("got %v", err)
	}
}
