package scripts

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// What can't be registered is an error that says why.
func TestRegisterScriptRefuses(t *testing.T) {
	t.Parallel()
	fine := func(context.Context, *session.Conn, int) (int, error) { return 0, nil }
	for want, err := range map[string]error{
		"the name of a script is empty":                 session.RegisterScript("", fine),
		`script name "a script" has the character ' '`:  session.RegisterScript("a script", fine),
		"65 bytes; at most 64 are allowed":              session.RegisterScript(strings.Repeat("x", 65), fine),
		`the function of script "none" is nil`:          session.RegisterScript[int, int]("none", nil),
		`there is a script "count" already; a name has`: session.RegisterScript(scriptCount, fine),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "session: RegisterScript: ") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// What a workflow can't ask for is told before anything is scheduled, with the field
// and the remedy.
func TestOptionsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.stdio())
	type attempt struct{ What, Want, Got string }
	script := func(want string, o toolset.ScriptOptions, name string, in any) func(workflow.Context) attempt {
		return func(ctx workflow.Context) attempt {
			_, err := toolset.RunScript[done](ctx, o, name, in)
			return attempt{"RunScript", want, message(err)}
		}
	}
	on := toolset.ScriptOptions{Server: "server"}
	with := func(change func(*toolset.ScriptOptions)) toolset.ScriptOptions { o := on; change(&o); return o }
	single := func(want string, o stateless.Options) func(workflow.Context) attempt {
		return func(ctx workflow.Context) attempt {
			_, err := stateless.CallOnce[string](ctx, o, "get", nil)
			return attempt{"CallOnce", want, message(err)}
		}
	}
	tries := []func(workflow.Context) attempt{
		script("ScriptOptions.Server: the name of an MCP server is empty", toolset.ScriptOptions{}, scriptAct, nil),
		script("the name of a script is empty", on, "", nil),
		script(`the script name "a b" has the character ' '`, on, "a b", nil),
		script(`encode the input of script "act" (func())`, on, scriptAct, func() {}),
		script(`the input of script "act" has 12 bytes of JSON; at most 5 are allowed`, with(func(o *toolset.ScriptOptions) { o.MaxArguments = 5 }), scriptAct, "0123456789"),
		script("encode ScriptOptions.Argument (func())", with(func(o *toolset.ScriptOptions) { o.Argument = func() {} }), scriptAct, nil),
		script("ScriptOptions.Timeout is -1s", with(func(o *toolset.ScriptOptions) { o.Timeout = -time.Second }), scriptAct, nil),
		script("ScriptOptions.Activity.ActivityID", with(func(o *toolset.ScriptOptions) { o.Activity.ActivityID = "x" }), scriptAct, nil),
		script("set ScriptOptions.TaskQueue", with(func(o *toolset.ScriptOptions) { o.Activity.TaskQueue = "x" }), scriptAct, nil),
		script("below the script's timeout of 10m0s: set ScriptOptions.Timeout too", with(func(o *toolset.ScriptOptions) { o.Activity.StartToCloseTimeout = time.Minute }), scriptAct, nil),
		script("HeartbeatTimeout is 1ms", with(func(o *toolset.ScriptOptions) { o.Activity.HeartbeatTimeout = time.Millisecond }), scriptAct, nil),
		single("Options.ConnectTimeout is -1s", stateless.Options{Server: "server", ConnectTimeout: -time.Second}),
		single("Options.Server", stateless.Options{}),
		func(ctx workflow.Context) attempt {
			_, err := toolset.Open(ctx, toolset.Options{Server: "server", ScriptTimeout: -1})
			return attempt{"Open", "Options.ScriptTimeout is -1ns", message(err)}
		},
	}
	run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (all []attempt, err error) {
		for _, try := range tries {
			all = append(all, try(ctx))
		}
		return all, nil
	})
	for _, a := range run.Result() {
		if !strings.Contains(a.Got, a.Want) {
			t.Errorf("%s: got %q, want %q", a.What, a.Got, a.Want)
		}
	}
	b.WantAttempts(run)
	b.wantLines("connects", 0)

	inBlock := fixture.Begin(b.Bundle, func(ctx workflow.Context) (all []attempt, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "server", MaxArguments: 5}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			all = append(all,
				attempt{"name", "the name of a script is empty", message(ts.Run(ctx, "", nil, nil))},
				attempt{"input", "has 12 bytes of JSON; at most 5", message(ts.Run(ctx, scriptAct, "0123456789", nil))},
				attempt{"output", "into a scripts.done; pass a pointer", message(ts.Run(ctx, scriptAct, nil, done{}))},
				attempt{"nil output", "into a *scripts.done", message(ts.Run(ctx, scriptAct, nil, (*done)(nil)))},
				attempt{"view", "ScriptTimeout -1ns", message(ts.WithOptions(toolset.Options{ScriptTimeout: -1}).Run(ctx, scriptAct, nil, nil))},
			)
			return nil
		})
		if err == nil {
			err = toolset.With(ctx, toolset.Options{Server: "server"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
				var n int
				all = append(all, attempt{"another output", `script "count" ran, and its output is no *int`, message(ts.Run(ctx, scriptCount, counting{1}, &n))})
				return nil
			})
		}
		return all, err
	})
	for _, a := range inBlock.Result() {
		if !strings.Contains(a.Got, a.Want) || !strings.Contains(a.Got, `"server"`) {
			t.Errorf("%s: got %q, want %q", a.What, a.Got, a.Want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A block's ScriptTimeout can be set for some of its scripts, and the block's options
// for calls do not end a script.
func TestScriptTimeoutOfAView(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.stdio())
	type got struct{ Short, Long seen }
	options := toolset.Options{Server: "server", CallTimeout: time.Second, Operation: workflow.ActivityOptions{StartToCloseTimeout: 2 * time.Second, ScheduleToCloseTimeout: 2 * time.Second}}
	run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (g got, err error) {
		err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			var d done
			g.Short = saw(nil, ts.WithOptions(toolset.Options{ScriptTimeout: time.Second}).Run(ctx, scriptAct, b.act("wait"), &d))
			g.Long = saw(nil, ts.Run(ctx, scriptAct, b.act("wait"), &d))
			return nil
		})
		return g, err
	})
	b.awaitLines("begun", 2)
	time.AfterFunc(4*time.Second, func() { b.touch("until") })
	g := run.Result()
	if g.Short.Details.Reason != "call-timeout" || !strings.Contains(g.Short.Message, "(1s)") || g.Long.Type != "" || g.Long.Message != "" {
		t.Errorf("the scripts saw %+v", g)
	}
}
