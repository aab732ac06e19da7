package tests

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// Servers that can't be registered are refused by the plugin and by Register
// alike, before any worker starts, with an error that names the value and the fix.
func TestBadServersAreRefused(t *testing.T) {
	t.Parallel()
	connect := transport.Command("server")
	good := session.Server{Name: "counter", Connect: connect}
	for name, test := range map[string]struct {
		servers []session.Server
		words   []string
	}{
		"no servers":        {nil, []string{"no server", "at least one"}},
		"empty name":        {[]session.Server{{Connect: connect}}, []string{"empty", "Name"}},
		"name with @":       {[]session.Server{{Name: "a@b", Connect: connect}}, []string{`"a@b"`, "'@'", "letters, digits, '-' and '_'"}},
		"name with /":       {[]session.Server{{Name: "a/b", Connect: connect}}, []string{`"a/b"`, "'/'", "letters, digits, '-' and '_'"}},
		"name with a dot":   {[]session.Server{{Name: "a.b", Connect: connect}}, []string{`"a.b"`, "'.'"}},
		"long name":         {[]session.Server{{Name: strings.Repeat("x", 65), Connect: connect}}, []string{"65 bytes", "64"}},
		"nil connector":     {[]session.Server{good, {Name: "browser"}}, []string{`"browser"`, "Connect is nil", "transport.Command"}},
		"name twice":        {[]session.Server{good, {Name: "other", Connect: connect}, good}, []string{`"counter"`, "twice"}},
		"negative timeout":  {[]session.Server{{Name: "c", Connect: connect, ConnectTimeout: -1}}, []string{`"c"`, "ConnectTimeout", "-1ns", "zero"}},
		"negative limit":    {[]session.Server{{Name: "c", Connect: connect, MaxConcurrentCalls: -3}}, []string{`"c"`, "MaxConcurrentCalls", "-3", "zero"}},
		"negative idleness": {[]session.Server{{Name: "c", Connect: connect, IdleTimeout: -time.Second}}, []string{`"c"`, "IdleTimeout", "-1s", "zero"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if plugin, err := session.NewPlugin(session.Options{Servers: test.servers}); err == nil || plugin != nil {
				t.Errorf("NewPlugin returned %v, %v", plugin, err)
			} else {
				mentions(t, err.Error(), test.words...)
			}
			b := setup(t)
			w := worker.New(b.client, b.taskQueue, worker.Options{})
			if err := session.Register(w, test.servers...); err == nil {
				t.Error("Register returned no error")
			} else {
				mentions(t, err.Error(), test.words...)
			}
		})
	}
	if _, err := session.NewPlugin(session.Options{Servers: []session.Server{good}, DrainTimeout: -time.Second}); err == nil {
		t.Error("a negative DrainTimeout was taken")
	} else {
		mentions(t, err.Error(), "DrainTimeout", "-1s", "zero")
	}
}

// Options of a block that make no sense are an error of Open that names the field,
// the value and the fix. Nothing is scheduled, and the workflow can go on.
func TestBadBlockOptions(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		options toolset.Options
		words   []string
	}{
		{"no server", toolset.Options{}, []string{"Options.Server", "empty"}},
		{"server with @", toolset.Options{Server: "a@b"}, []string{"Options.Server", `"a@b"`, "'@'", "use letters"}},
		{"server with /", toolset.Options{Server: "a/b"}, []string{"Options.Server", `"a/b"`, "'/'", "use letters"}},
		{"activity id of the session", toolset.Options{Server: "c", Session: workflow.ActivityOptions{ActivityID: "7"}},
			[]string{"Session.ActivityID", `"7"`, "leave it empty"}},
		{"activity id of operations", toolset.Options{Server: "c", Operation: workflow.ActivityOptions{ActivityID: "8"}},
			[]string{"Options.Operation", "ActivityID", `"8"`, "leave it empty"}},
		{"task queue of operations", toolset.Options{Server: "c", Operation: workflow.ActivityOptions{TaskQueue: "mine"}},
			[]string{"Options.Operation", "TaskQueue", `"mine"`, "Session.TaskQueue"}},
		{"start-to-close below the call timeout", toolset.Options{Server: "c", Operation: workflow.ActivityOptions{StartToCloseTimeout: time.Second}},
			[]string{"StartToCloseTimeout", "1s", "1m0s", "CallTimeout"}},
		{"negative call timeout", toolset.Options{Server: "c", CallTimeout: -time.Second}, []string{"CallTimeout", "-1s", "zero"}},
		{"negative tool timeout", toolset.Options{Server: "c", ToolTimeouts: map[string]time.Duration{"read": -time.Second}},
			[]string{"ToolTimeouts", "read", "-1s"}},
		{"tool timeout of zero", toolset.Options{Server: "c", ToolTimeouts: map[string]time.Duration{"read": 0}}, []string{"ToolTimeouts", "read"}},
		{"start-to-close of a tool below its timeout", toolset.Options{Server: "c", Tools: map[string]workflow.ActivityOptions{"read": {StartToCloseTimeout: time.Second}}},
			[]string{`"read"`, "StartToCloseTimeout", "1s", "1m0s", "ToolTimeouts"}},
		{"activity id of a tool", toolset.Options{Server: "c", Tools: map[string]workflow.ActivityOptions{"read": {ActivityID: "9"}}},
			[]string{`"read"`, "ActivityID", `"9"`}},
		{"negative heartbeat", toolset.Options{Server: "c", Session: workflow.ActivityOptions{HeartbeatTimeout: -time.Second}},
			[]string{"Options.Session", "HeartbeatTimeout", "-1s", "zero"}},
		{"negative schedule-to-close", toolset.Options{Server: "c", Operation: workflow.ActivityOptions{ScheduleToCloseTimeout: -time.Second}},
			[]string{"Options.Operation", "ScheduleToCloseTimeout", "-1s", "zero"}},
		{"negative attempts", toolset.Options{Server: "c", Session: attempts(-1)}, []string{"Options.Session", "MaximumAttempts", "-1", "zero"}},
		{"shrinking backoff", toolset.Options{Server: "c", Operation: workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{BackoffCoefficient: 0.5}}},
			[]string{"Options.Operation", "BackoffCoefficient", "0.5"}},
		{"maximum below initial interval", toolset.Options{Server: "c", Tools: map[string]workflow.ActivityOptions{
			"read": {RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Minute, MaximumInterval: time.Second}},
		}}, []string{`"read"`, "MaximumInterval", "1s", "1m0s"}},
		{"negative argument bound", toolset.Options{Server: "c", MaxArguments: -5}, []string{"MaxArguments", "-5", "zero"}},
		{"argument that can't be encoded", toolset.Options{Server: "c", Argument: make(chan int)}, []string{"Options.Argument", "chan int"}},
		{"argument over the bound", toolset.Options{Server: "c", Argument: strings.Repeat("x", 3<<20)}, []string{"Options.Argument", "3145730 bytes", "2031616"}},
	}
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (texts []string, err error) {
		for _, c := range cases {
			text := "no error"
			if ts, err := toolset.Open(ctx, c.options); err != nil {
				text = err.Error()
			} else {
				_ = ts.Close(ctx)
			}
			texts = append(texts, text)
		}
		return texts, nil
	}, stdio("c"))
	run := b.start()
	var texts []string
	if err := run.Get(b.ctx, &texts); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) { mentions(t, texts[i], append(c.words, "toolset: ")...) })
	}
	if n := len(b.activities(run, "")); n != 0 {
		t.Errorf("%d activities were scheduled", n)
	}
}

// Arguments that the server can't be sent are an error of the call alone: nothing
// is scheduled, no workflow task fails, and the session goes on.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	type loop struct{ Self *loop }
	cycle := &loop{}
	cycle.Self = cycle
	cases := []struct {
		name  string
		tool  string
		pass  any
		words []string
	}{
		{"channel", fixture.Echo, map[string]any{"c": make(chan int)}, []string{`"echo"`, "map[string]interface {}", "chan int"}},
		{"cycle", fixture.Echo, cycle, []string{"loop", "cycle"}},
		{"list", fixture.Echo, []int{1, 2}, []string{`"echo"`, "[]int", "[1,2]", "not to a JSON object", "map or a struct"}},
		{"text", fixture.Echo, "hello", []string{"string", "hello", "not to a JSON object"}},
		{"number", fixture.Echo, json.RawMessage("17"), []string{"17", "not to a JSON object"}},
		{"broken JSON", fixture.Echo, json.RawMessage(`{"a":`), []string{"json.RawMessage"}},
		{"too many bytes", fixture.Echo, map[string]string{"t": strings.Repeat("x", 3<<20)},
			[]string{"3145736 bytes", "2031616", "reference", "Options.MaxArguments"}},
		{"long tool name", strings.Repeat("y", 3<<20), nil, []string{"yyyy", "3145728 bytes", "1024"}},
		{"no tool", "", nil, []string{"tool", "empty"}},
	}
	type seen struct {
		Called, Awaited []string
		Count           string
	}
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for _, c := range cases {
				_, called := ts.CallTool(ctx, c.tool, c.pass)
				got.Called = append(got.Called, faultOf(called).Text)
				got.Awaited = append(got.Awaited, faultOf(ts.CallToolAsync(ctx, c.tool, c.pass).Get(ctx, nil)).Text)
			}
			got.Count, err = call(ctx, ts, fixture.Incr, nil)
			return err
		})
		return got, err
	}, stdio("counter"))
	run := b.start()
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mentions(t, got.Called[i], append(c.words, `"counter"`)...)
			if got.Awaited[i] != got.Called[i] {
				t.Errorf("CallToolAsync says %q", got.Awaited[i])
			}
			if len(got.Called[i]) > 1000 {
				t.Errorf("the error has %d bytes", len(got.Called[i]))
			}
		})
	}
	if n := len(b.activities(run, "mcp.counter.call-tool")); n != 1 || got.Count != "1" {
		t.Errorf("%d calls were scheduled, the counter is %q", n, got.Count)
	}
}
