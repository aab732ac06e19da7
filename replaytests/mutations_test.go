package replaytests_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/internal/mutate"
)

// mutationTimeout bounds a build and a replay; the machine may be busy.
const mutationTimeout = 5 * time.Minute

// A mutation is a change of the workflow side that breaks runs which are open.
type mutation struct {
	name     string
	file     string // of the module
	from, to string // from is in the file once
	test     string // that must fail; TestHistoriesReplay if empty
	wants    []string
}

var mutations = []mutation{
	{
		name: "the session activity is renamed", file: "queue/name.go",
		from: `"mcp." + server + ".session" }`, to: `"mcp." + server + ".holder" }`,
		wants: []string{"event 5, ActivityTaskScheduled", "another activity type", "recorded: activity mcp.counter.session on", "wanted:   activity mcp.counter.holder on"},
	},
	{
		name: "all activities get another prefix, which the SDK does not look at", file: "queue/name.go",
		from: `"mcp." + server + "." + string(operation)`, to: `"mcps." + server + "." + string(operation)`,
		wants: []string{"event 6, ActivityTaskScheduled", "another activity type", "wanted:   activity mcps.counter.session-info", "does not look at this"},
	},
	{
		name: "session-info is dropped", file: "toolset/open.go",
		from: "if err := ts.awaitInfo(ctx); err != nil {", to: "if err := error(nil); err != nil {",
		wants: []string{"event 6, ActivityTaskScheduled", "recorded: activity mcp.counter.session-info", "the SDK:"},
	},
	{
		name: "close-session is dropped", file: "toolset/close.go",
		from: "	c := ts.schedule(ctx, queue.OperationCloseSession,",
		to: "	ts.cancelSession()\n	if ts.session.Get(ctx, nil) != nil {\n		return nil\n	}\n" +
			"	c := ts.schedule(ctx, queue.OperationCloseSession,",
		wants: []string{"ActivityTaskScheduled", "recorded: activity mcp.counter.close-session", "wanted:   nothing"},
	},
	{
		name: "an activity is added", file: "toolset/open.go",
		from: "	if err := ts.awaitInfo(ctx); err != nil {",
		to: "	_ = workflow.ExecuteActivity(sessionCtx, \"mcp.extra.audit\").Get(ctx, nil)\n" +
			"	if err := ts.awaitInfo(ctx); err != nil {",
		wants: []string{"event 6, ActivityTaskScheduled", "recorded: activity mcp.counter.session-info", "wanted:   activity mcp.extra.audit"},
	},
	{
		name: "an activity is added at the end of what an open run has done", file: "toolset/calls.go",
		from: "	ts.keepResult(c.key, value)",
		to: "	_ = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, ts.settings.Session), \"mcp.extra.audit\")\n" +
			"	ts.keepResult(c.key, value)",
		wants: []string{"open.json", "more than the history has", "wanted:   activity mcp.extra.audit"},
	},
	{
		name: "the session and its first operation are swapped", file: "toolset/open.go",
		from: "	ts.session = workflow.ExecuteActivity(sessionCtx, queue.SessionActivity(settings.Server), queue.SessionInput{",
		to: "	ts.schedule(ctx, queue.OperationSessionInfo, queue.SessionInfo{Operation: ts.block}, settings.Operation)\n" +
			"	ts.session = workflow.ExecuteActivity(sessionCtx, queue.SessionActivity(settings.Server), queue.SessionInput{",
		wants: []string{"event 5, ActivityTaskScheduled", "recorded: activity mcp.counter.session on", "wanted:   activity mcp.counter.session-info"},
	},
	{
		name: "the session is opened late", file: "toolset/open.go",
		from: "	ts.session = workflow.ExecuteActivity(", to: "	_ = workflow.Sleep(ctx, time.Second)\n	ts.session = workflow.ExecuteActivity(",
		wants: []string{"event 5, ActivityTaskScheduled", "recorded: activity mcp.counter.session on", "wanted:   timer of 1s"},
	},
	{
		name: "operations go to another queue", file: "toolset/operation.go",
		from: "options.TaskQueue = ts.taskQueue", to: "options.TaskQueue = ts.taskQueue + \"-v2\"",
		wants: []string{"event 6, ActivityTaskScheduled", "another task queue", "-v2", "does not look at this"},
	},
	{
		name: "the session goes to another queue", file: "toolset/open.go",
		from: "	ts.session = workflow.ExecuteActivity(", to: "	sessionCtx = workflow.WithTaskQueue(sessionCtx, \"sessions\")\n	ts.session = workflow.ExecuteActivity(",
		wants: []string{"event 5, ActivityTaskScheduled", "another task queue", "on sessions", "does not look at this"},
	},
	{
		name: "keys are drawn from another stream", file: "toolset/open.go",
		from: "mcpsession/block\"", to: "mcpsession/blocks\"",
		wants: []string{"event 5, ActivityTaskScheduled", "another key: recorded", "does not look at this"},
	},
	{
		name: "operations do not say whose they are", file: "toolset/open.go",
		from: "	ts.block.Instance = info.Instance\n", to: "",
		wants: []string{"another instance: recorded", "instance-1", "does not look at this"},
	},
	{
		name: "a call is scheduled although the session has ended", file: "toolset/toolset.go",
		from:  "	case ts.lost != nil:\n		return ts.again(tool)\n	case ts.session.IsReady():\n		return ts.loss(ctx, tool, failure.RanNo)\n",
		to:    "",
		wants: []string{"ended-before-call.json", "recorded: WorkflowExecutionCompleted", "wanted:   activity mcp.counter.call-tool"},
	},
	{
		name: "what waits is not cancelled when the session ends", file: "toolset/operation.go",
		from: "		c.cancel()\n		return ts.loss(", to: "		return ts.loss(",
		wants: []string{"ended-in-call.json", "ActivityTaskCancelRequested"},
	},
	{
		name: "a stateless call goes elsewhere", file: "stateless/activity.go",
		from: "options.TaskQueue = queueOfHosts", to: "options.TaskQueue = queueOfHosts + \"stateless\"",
		wants: []string{"stateless.json", "another task queue", "does not look at this"},
	},
	{
		name: "a timeout is another", file: "toolset/options.go",
		from: "DefaultSessionTimeout = 24 * time.Hour", to: "DefaultSessionTimeout = 25 * time.Hour",
		test:  "TestNewestHistoriesAreExact",
		wants: []string{"another start-to-close timeout", "24h0m0s", "25h0m0s", "does not look at this"},
	},
	{
		name: "a retry policy is another", file: "toolset/options.go",
		from: "DefaultOpenAttempts = 3", to: "DefaultOpenAttempts = 4",
		test:  "TestNewestHistoriesAreExact",
		wants: []string{"another retry policy", "attempts 3", "attempts 4"},
	},
}

// Each change that breaks open runs fails a test, with a message that says what was
// recorded and what the code wants. They are applied to the library for one build, and
// leave no trace in it. Without any the same tests pass.
func TestMutationsAreCaught(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the library once a mutation")
	}
	if output, err := replayWith(t, "", "TestHistoriesReplay|TestNewestHistoriesAreExact"); err != nil {
		t.Fatalf("without a mutation: %v\n%s", err, output)
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			test := m.test
			if test == "" {
				test = "TestHistoriesReplay"
			}
			output, err := replayWith(t, mutate.Overlay(t, "..", m.file, m.from, m.to), "^"+test+"$")
			if err == nil {
				t.Fatalf("no test fails")
			}
			if !strings.Contains(output, "--- FAIL: "+test) {
				t.Fatalf("the tests did not run: %v\n%s", err, output)
			}
			for _, want := range m.wants {
				if !strings.Contains(output, want) {
					t.Errorf("the message has no %q:\n%s", want, output)
				}
			}
		})
	}
}

// replayWith runs a test of this package with an overlay, and returns what it says.
func replayWith(t *testing.T, overlay, test string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mutationTimeout)
	defer cancel()
	arguments := []string{"test", "-count=1", "-run", test}
	if overlay != "" {
		arguments = append(arguments, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(arguments, ".")...)
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	output, err := cmd.CombinedOutput()
	return string(output), err
}
