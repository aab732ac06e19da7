package scripts

import (
	"encoding/json"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// patient are activity options under which a lost worker is soon told, and a slow
// machine loses none.
var patient = workflow.ActivityOptions{HeartbeatTimeout: 5 * time.Second, RetryPolicy: fast}

// A workflow's cancel ends a script's context and the request that it has under way,
// of which the server is told. A block lives on. (C16)
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, where := range places {
		t.Run(string(where), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(b.stdio())
			run := b.run(where, toolset.ScriptOptions{CallTimeout: testTimeout}, scriptAct, b.act("block"))
			b.awaitLines("began", 1)
			if err := b.Client.CancelWorkflow(b.Ctx, run.GetID(), run.GetRunID()); err != nil {
				t.Fatal(err)
			}
			b.awaitLines("until", 1)
			if s := run.Result(); !s.Canceled {
				t.Errorf("the workflow saw %+v", s)
			}
			b.wantLines("begun", 1)
			for _, a := range b.Activities(run) {
				if a.Type == "mcp.server.stateless.run-script" && a.End != enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED {
					t.Errorf("the script's activity ended as %v", a.End)
				}
			}
		})
	}
}

// A workflow that is terminated leaves no script behind.
func TestTerminate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.stdio())
	run := b.run(own, toolset.ScriptOptions{}, scriptAct, b.act("block"))
	b.awaitLines("began", 1)
	if err := b.Client.TerminateWorkflow(b.Ctx, run.GetID(), run.GetRunID(), "a test"); err != nil {
		t.Fatal(err)
	}
	b.awaitLines("until", 1)
	b.Eventually("the server is gone", func() bool { return len(b.Processes()) == 0 })
}

// A worker that stops ends its scripts and reports them; one that ends within the
// DrainTimeout has its result, and one that may be repeated runs again elsewhere. No
// process is left when Stop returns.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		where      place
		drain      time.Duration
		repeatable bool
	}{
		"at once": {where: own}, "drained": {where: own, drain: testTimeout}, "repeatable": {where: own, repeatable: true},
		"at once, in a block": {where: inBlock},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker()
			host := b.Host(session.Options{DrainTimeout: test.drain, Servers: []session.Server{b.stdio()}})
			run := b.run(test.where, toolset.ScriptOptions{TaskQueue: b.Hosts(), Repeatable: test.repeatable}, scriptAct, b.act("wait"))
			b.awaitLines("begun", 1)
			stopped := make(chan struct{})
			go func() {
				host.Stop()
				close(stopped)
			}()
			begun := 1
			switch {
			case test.drain > 0:
				b.touch("until")
				if s := run.Result(); s.text() != "waited" {
					t.Errorf("the workflow saw %+v", s)
				}
			case test.repeatable:
				<-stopped
				b.Host(session.Options{Servers: []session.Server{b.stdio()}})
				b.awaitLines("begun", 2)
				b.touch("until")
				if s := run.Result(); s.text() != "waited" {
					t.Errorf("the workflow saw %+v", s)
				}
				begun = 2
			case test.where == own:
				b.want(run.Result(), failure.TypeCall, failure.ReasonWorkerStopped, failure.RanUnknown)
			default:
				b.want(run.Result(), failure.TypeDedicatedWorker, failure.ReasonWorkerStopped, failure.RanUnknown)
			}
			<-stopped
			if left := b.Processes(); len(left) > 0 && !test.repeatable {
				t.Errorf("processes are left: %v", left)
			}
			b.wantLines("begun", begun)
		})
	}
}

// A host that is killed while it opens a script's session leaves word that the script
// has not begun, so that it runs elsewhere.
func TestHostIsKilledWhileOpening(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker()
	host := b.startHostOf(hostConfig{Hang: true})
	run := b.run(own, toolset.ScriptOptions{TaskQueue: b.Hosts(), Activity: patient}, scriptAct, b.act("return"))
	b.awaitLines("connects", 1)
	b.startHost()
	host.Kill()
	if s := run.Result(); s.text() != "fine" {
		t.Errorf("the workflow saw %+v", s)
	}
	b.wantLines("begun", 1)
	b.WantAttempts(run, 1, 1) // two activities
}

// As many hosts as there are attempts may be lost so; then the failure says that no
// script has begun.
func TestHostsAreKilledWhileOpening(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker()
	run := b.run(own, toolset.ScriptOptions{TaskQueue: b.Hosts(), Activity: patient}, scriptAct, b.act("return"))
	for i := range int(fast.MaximumAttempts) {
		host := b.startHostOf(hostConfig{Hang: true})
		b.awaitLines("connects", i+1)
		host.Kill()
	}
	b.want(run.Result(), failure.TypeOpen, failure.ReasonHostLost, failure.RanNo)
	b.wantLines("begun", 0)
}

// A host that is killed while a script runs is told by its missing heartbeats. The
// script is not begun again, though another host is there, unless it may be repeated.
func TestHostIsKilledInTheScript(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		where      place
		repeatable bool
	}{"once": {where: own}, "repeatable": {where: own, repeatable: true}, "in a block": {where: inBlock}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker()
			host := b.startHost()
			run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (s seen, err error) {
				if test.where == own {
					out, err := toolset.RunScript[json.RawMessage](ctx, toolset.ScriptOptions{
						Server: "server", TaskQueue: b.Hosts(), Activity: patient, Repeatable: test.repeatable,
					}, scriptAct, b.act("wait"))
					return saw(out, err), nil
				}
				options := toolset.Options{Server: "server", Session: workflow.ActivityOptions{TaskQueue: b.Hosts(), HeartbeatTimeout: 5 * time.Second}}
				_ = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
					err = ts.Run(ctx, scriptAct, b.act("wait"), nil)
					return nil
				})
				return saw(nil, err), nil
			})
			b.awaitLines("begun", 1)
			b.startHost()
			host.Kill()
			if test.repeatable {
				b.awaitLines("begun", 2)
				b.touch("until")
				if s := run.Result(); s.text() != "waited" {
					t.Errorf("the workflow saw %+v", s)
				}
				return
			}
			kind := failure.TypeCall
			if test.where == inBlock {
				kind = failure.TypeDedicatedWorker
			}
			b.want(run.Result(), kind, failure.ReasonHostLost, failure.RanUnknown)
			b.wantLines("begun", 1)
		})
	}
}

// That a script begins once does not rest on the retry policy: under one that retries
// everything, an attempt that comes after a killed host refuses, also where an operator
// has reset the activity and so set its attempts back, with what they have left or
// without. One that finds word that the script has not begun does not.
func TestLaterAttempts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opening, reset, dropping bool
		reason                   failure.Reason
		attempt                  int32
	}{
		"after the script":           {reason: failure.ReasonHostLost, attempt: 2},
		"after the opening":          {opening: true, attempt: 2},
		"reset, keeping the word":    {reset: true, reason: failure.ReasonReset, attempt: 1},
		"reset, dropping the word":   {reset: true, dropping: true, reason: failure.ReasonReset, attempt: 1},
		"reset while it was opening": {reset: true, opening: true, attempt: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker()
			host := b.startHostOf(hostConfig{Hang: test.opening})
			policy := fast
			if test.reset {
				policy = &temporal.RetryPolicy{InitialInterval: time.Minute} // for the reset to come before
			}
			input, err := json.Marshal(b.act("wait"))
			if err != nil {
				t.Fatal(err)
			}
			run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (seen, error) {
				ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					TaskQueue: b.Hosts(), HeartbeatTimeout: 3 * time.Second, StartToCloseTimeout: testTimeout, RetryPolicy: policy,
				})
				var result queue.Result[json.RawMessage]
				err := workflow.ExecuteActivity(ctx, queue.StatelessActivity("server", queue.OperationRunScript), queue.Stateless[queue.RunScript]{
					Operation: queue.RunScript{
						Operation: queue.Operation{RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID}, Script: scriptAct, Input: input,
					},
				}).Get(ctx, &result)
				if err == nil {
					return saw(*result.Value, nil), nil
				}
				return saw(nil, failure.OfScript(err)), nil
			})
			if test.opening {
				b.awaitLines("connects", 1)
				b.touch("until")
			} else {
				b.awaitLines("begun", 1)
			}
			b.startHost()
			host.Kill()
			if test.reset {
				b.Eventually("the host's loss is known", func() bool {
					return b.pendingAttempt(run, queue.StatelessActivity("server", queue.OperationRunScript)) == 2
				})
				b.resetScript(run, test.dropping)
			}
			if s := run.Result(); test.opening && s.text() != "waited" {
				t.Errorf("the workflow saw %+v", s)
			} else if !test.opening {
				b.want(s, failure.TypeCall, test.reason, failure.RanUnknown)
			}
			b.wantLines("begun", 1)
			b.WantAttempts(run, test.attempt)
		})
	}
}

// resetScript resets the activity of a script with a session of its own.
func (b *bundle) resetScript(run client.WorkflowRun, dropping bool) {
	b.Helper()
	if _, err := b.Client.WorkflowService().ResetActivity(b.Ctx, &workflowservice.ResetActivityRequest{
		Namespace: server.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		Activity: &workflowservice.ResetActivityRequest_Type{Type: queue.StatelessActivity("server", queue.OperationRunScript)}, ResetHeartbeat: dropping,
	}); err != nil {
		b.Fatal(err)
	}
}

// An operator who resets a script's activity does not make it run again, whether or
// not the reset takes away what the attempt has left.
func TestActivityReset(t *testing.T) {
	t.Parallel()
	for name, dropping := range map[string]bool{"keeping details": false, "dropping details": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker()
			host := b.startHost()
			run := b.run(own, toolset.ScriptOptions{TaskQueue: b.Hosts(), Activity: workflow.ActivityOptions{HeartbeatTimeout: 5 * time.Second}}, scriptAct, b.act("wait"))
			b.awaitLines("begun", 1)
			b.resetScript(run, dropping)
			b.startHost()
			host.Kill()
			s := run.Result()
			if s.Type != failure.TypeCall || s.Ran != failure.RanUnknown {
				t.Errorf("the workflow saw %+v", s)
			}
			b.wantLines("begun", 1)
		})
	}
}

// A workflow that is reset while a script runs gets its activity once more, in the run
// after. That does not begin the script.
func TestWorkflowReset(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.stdio())
	run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (s seen, err error) {
		var settled bool
		workflow.Go(ctx, func(ctx workflow.Context) {
			out, err := toolset.RunScript[json.RawMessage](ctx, toolset.ScriptOptions{Server: "server"}, scriptAct, b.act("wait"))
			s, settled = saw(out, err), true
		})
		workflow.GetSignalChannel(ctx, "go on").Receive(ctx, nil)
		err = workflow.Await(ctx, func() bool { return settled })
		return s, err
	})
	b.awaitLines("begun", 1)
	run.Signal("go on")
	again := run.ResetTo(2)
	b.want(again.Result(), failure.TypeCall, failure.ReasonWorkflowReset, failure.RanUnknown)
	b.wantLines("begun", 1)
}

// A script in a block whose attempt times out, or whose answer is lost, is joined by
// the next attempt, and runs once.
func TestBlockJoins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.stdio())
	input, err := json.Marshal(b.act("wait"))
	if err != nil {
		t.Fatal(err)
	}
	run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (s seen, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "server"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			info := ts.Info()
			_, runID, key, _ := queue.Parse(info.TaskQueue)
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
				TaskQueue: info.TaskQueue, StartToCloseTimeout: time.Second, RetryPolicy: unlimited,
			})
			var result queue.Result[json.RawMessage]
			err := workflow.ExecuteActivity(ctx, queue.OperationActivity("server", queue.OperationRunScript), queue.RunScript{
				Operation: queue.Operation{RunID: runID, Key: key, Instance: info.Instance}, Script: scriptAct, Input: input,
			}).Get(ctx, &result)
			if err == nil {
				s = saw(*result.Value, nil)
			}
			return err
		})
		return s, err
	})
	b.awaitLines("begun", 1)
	b.Eventually("another attempt has come", func() bool {
		return b.pendingAttempt(run, queue.OperationActivity("server", queue.OperationRunScript)) >= 3
	})
	b.touch("until")
	if s := run.Result(); s.text() != "waited" {
		t.Errorf("the workflow saw %+v", s)
	}
	b.wantLines("begun", 1)
}

// pendingAttempt is the attempt of a run's pending activity.
func (b *bundle) pendingAttempt(run client.WorkflowRun, activityType string) int32 {
	b.Helper()
	described, err := b.Client.WorkflowService().DescribeWorkflowExecution(b.Ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: server.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, pending := range described.GetPendingActivities() {
		if pending.GetActivityType().GetName() == activityType {
			return pending.GetAttempt()
		}
	}
	return 0
}

// A block that is closed while a script runs ends it.
func TestCloseWhileItRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.stdio())
	run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (s seen, err error) {
		ts, err := toolset.Open(ctx, toolset.Options{Server: "server"})
		if err != nil {
			return s, err
		}
		var settled bool
		workflow.Go(ctx, func(ctx workflow.Context) {
			s, settled = saw(nil, ts.Run(ctx, scriptAct, b.act("block"), nil)), true
		})
		workflow.GetSignalChannel(ctx, "close").Receive(ctx, nil)
		if err := ts.Close(ctx); err != nil {
			return s, err
		}
		err = workflow.Await(ctx, func() bool { return settled })
		return s, err
	})
	b.awaitLines("began", 1)
	if err := b.Client.SignalWorkflow(b.Ctx, run.GetID(), run.GetRunID(), "close", nil); err != nil {
		t.Fatal(err)
	}
	if s := run.Result(); s.Type != failure.TypeSessionClosed || s.Ran != failure.RanUnknown {
		t.Errorf("the workflow saw %+v", s)
	}
	if left := b.Processes(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// A worker without the plugin ends its scripts when it stops, too, and leaves no
// server. The SDK may fail the attempt as one to retry; with no other worker there, the
// workflow is told that nobody took it again, and not that it has not begun.
func TestWorkerWithoutPluginStops(t *testing.T) {
	t.Parallel()
	for _, where := range places {
		t.Run(string(where), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker()
			w := worker.New(b.Client, b.Hosts(), worker.Options{DisableWorkflowWorker: true})
			warm := b.stdio()
			warm.Warm = 1
			if err := session.Register(w, warm); err != nil {
				t.Fatal(err)
			}
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			options := patient
			options.ScheduleToStartTimeout = 10 * time.Second
			run := b.run(where, toolset.ScriptOptions{TaskQueue: b.Hosts(), Activity: options}, scriptAct, b.act("block"))
			b.awaitLines("began", 1)
			w.Stop()
			b.awaitLines("until", 1) // the server was told
			b.Eventually("the servers are gone", func() bool { return len(b.Processes()) == 0 })
			s := run.Result()
			if s.Type == failure.TypeOpen || s.Type == "" || s.Ran != failure.RanUnknown {
				t.Errorf("the workflow saw %+v", s)
			}
			b.wantLines("begun", 1)
		})
	}
}
