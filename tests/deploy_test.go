package tests

import (
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// A deployment is the versions of a worker on the test's own task queue, each of
// which runs the workflow and holds its sessions.
type deployment struct {
	*bundle
	behavior workflow.VersioningBehavior
	connect  transport.Connector
}

// version starts a worker of a version, whose identity is the version's.
func (d *deployment) version(buildID string, run any) worker.Worker {
	d.Helper()
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{d.counted(d.connect)}})
	if err != nil {
		d.Fatal(err)
	}
	w := worker.New(d.client, d.taskQueue, worker.Options{
		Identity: buildID,
		Plugins:  []worker.Plugin{plugin},
		DeploymentOptions: worker.DeploymentOptions{
			UseVersioning: true,
			Version:       worker.WorkerDeploymentVersion{DeploymentName: d.taskQueue, BuildID: buildID},
		},
	})
	w.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: "test", VersioningBehavior: d.behavior})
	if err := w.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(w.Stop)
	return w
}

// setCurrent makes a version the one that new runs go to, as soon as the server
// knows it.
func (d *deployment) setCurrent(buildID string) {
	d.Helper()
	handle := d.client.WorkerDeploymentClient().GetHandle(d.taskQueue)
	d.eventually(fmt.Sprintf("version %s is the current one", buildID), func() bool {
		_, err := handle.SetCurrentVersion(d.ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: buildID})
		return err == nil
	})
}

// ranOn returns the version that has completed the run's last workflow task.
func (d *driver) ranOn() (buildID string) {
	d.Helper()
	events := d.client.GetWorkflowHistory(d.ctx, d.run.GetID(), d.run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			d.Fatal(err)
		}
		if task := event.GetWorkflowTaskCompletedEventAttributes(); task != nil {
			buildID = task.GetDeploymentVersion().GetBuildId()
		}
	}
	return buildID
}

// A session lives on across a deploy: its block's calls reach it whichever version
// runs the workflow from then on, since the block's own queue has none. Where the
// next block opens goes by the workflow's versioning behaviour. When the old
// version's worker goes at last, what it holds is lost as with any stop.
func TestSessionAcrossADeploy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		behavior workflow.VersioningBehavior
		then     string // where blocks open after the deploy
	}{
		"pinned":       {workflow.VersioningBehaviorPinned, "v1"},
		"auto-upgrade": {workflow.VersioningBehaviorAutoUpgrade, "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			d := &deployment{b, test.behavior, ownedFixture(b.taskQueue)}
			options := toolset.Options{Server: "counter", Session: workflow.ActivityOptions{HeartbeatTimeout: longHeartbeat}}
			v1 := d.version("v1", driven(options))
			d.setCurrent("v1")
			run := &driver{bundle: d.bundle, run: d.begin(client.StartWorkflowOptions{})}
			first := run.open()
			first.must(fixture.Incr)
			if first.Host != "v1" {
				t.Errorf("the first block's host is %q", first.Host)
			}

			d.version("v2", driven(options))
			d.setCurrent("v2")
			calls := 1
			d.eventually(test.then+" runs the workflow", func() bool {
				first.must(fixture.Incr)
				calls++
				return run.ranOn() == test.then
			})
			first.wantCounter(calls)
			second := run.open()
			if second.Host != test.then {
				t.Errorf("after the deploy a block opened on %q, want %q", second.Host, test.then)
			}
			second.must(fixture.Incr)
			second.wantCounter(1)
			first.must(fixture.Incr)
			first.wantCounter(calls + 1)

			if test.then == "v2" {
				v1.Stop()
				d.wantLoss(first.callUnscheduled(), failure.ReasonWorkerStopped, failure.RanNo)
			} else if err := first.close(); err != nil {
				t.Error(err)
			}
			second.must(fixture.Incr)
			second.wantCounter(2)
			if err := second.close(); err != nil {
				t.Error(err)
			}
			d.wantConnects("here", "here")
		})
	}
}

// Many blocks open at once on a worker that is one version of a deployment add no
// queue to that version, whose queues a server limits (100 by default).
func TestManyBlocksOfAVersion(t *testing.T) {
	if *fixture.WorkflowCache == 0 {
		t.Skip("queues don't depend on the workflow cache")
	}
	t.Parallel()
	const blocks, runs = 200, 10
	d := &deployment{setupFaults(t), workflow.VersioningBehaviorPinned,
		transport.InMemory(func(transport.Argument) *mcp.Server { return fixture.New() })}
	d.version("v1", func(ctx workflow.Context) (calls int, err error) {
		var open []*toolset.Toolset
		group := workflow.NewWaitGroup(ctx)
		for range blocks / runs {
			group.Add(1)
			workflow.Go(ctx, func(ctx workflow.Context) {
				defer group.Done()
				ts, openErr := toolset.Open(ctx, toolset.Options{Server: "counter"})
				if openErr != nil {
					err = openErr
					return
				}
				open = append(open, ts)
			})
		}
		group.Wait(ctx)
		if err != nil {
			return 0, err
		}
		workflow.GetSignalChannel(ctx, "go on").Receive(ctx, nil)
		for _, ts := range open {
			text, err := call(ctx, ts, fixture.Incr, nil)
			if err != nil {
				return calls, err
			}
			if text == "1" {
				calls++
			}
			if err := ts.Close(ctx); err != nil {
				return calls, err
			}
		}
		return calls, nil
	})
	d.setCurrent("v1")
	var all []client.WorkflowRun
	for i := range runs {
		run, err := d.client.ExecuteWorkflow(d.ctx, client.StartWorkflowOptions{
			TaskQueue: d.taskQueue, ID: fmt.Sprint(d.taskQueue, "-", i),
		}, "test")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, run)
	}
	d.eventually("all blocks are open", func() bool { return len(d.lines(d.connectsFile())) == blocks })
	version, err := d.client.WorkerDeploymentClient().GetHandle(d.taskQueue).DescribeVersion(d.ctx,
		client.WorkerDeploymentDescribeVersionOptions{BuildID: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range version.Info.TaskQueuesInfos {
		if q.Name != d.taskQueue {
			t.Errorf("the version has the task queue %q", q.Name)
		}
	}
	for _, run := range all {
		if err := d.client.SignalWorkflow(d.ctx, run.GetID(), "", "go on", nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, run := range all {
		var calls int
		if err := run.Get(d.ctx, &calls); err != nil || calls != blocks/runs {
			t.Errorf("%d calls of %s reached a session of their own: %v", calls, run.GetID(), err)
		}
	}
}

// Hosts that are restarted one after the other, with time to drain, lose no session
// and open none twice, while workflows go on opening blocks and calling tools.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	const hosts, runs, calls = 3, 6, 5
	b := setupFaults(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (blocks int, err error) {
		enough := workflow.GetSignalChannel(ctx, "enough")
		for !enough.ReceiveAsync(nil) {
			err := toolset.With(ctx, b.options(longHeartbeat), func(ctx workflow.Context, ts *toolset.Toolset) error {
				for i := range calls {
					text, err := call(ctx, ts, fixture.Incr, nil)
					if err != nil {
						return err
					}
					if text != fmt.Sprint(i+1) {
						return fmt.Errorf("call %d of block %d returned %s", i+1, blocks+1, text)
					}
				}
				return nil
			})
			if err != nil {
				return blocks, err
			}
			blocks++
		}
		return blocks, nil
	})
	start := func() worker.Worker {
		return b.host(worker.Options{}, session.Options{
			DrainTimeout: testTimeout,
			Servers:      []session.Server{b.counted(transport.InMemory(func(transport.Argument) *mcp.Server { return fixture.New() }))},
		})
	}
	var running []worker.Worker
	for range hosts {
		running = append(running, start())
	}
	var all []client.WorkflowRun
	for i := range runs {
		run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{
			TaskQueue: b.taskQueue, ID: fmt.Sprint(b.taskQueue, "-", i),
		}, "test")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, run)
	}
	for _, old := range running {
		// Some blocks are opened between any two stops.
		before := len(b.lines(b.connectsFile()))
		b.awaitLines(b.connectsFile(), before+runs)
		start()
		old.Stop()
	}
	for _, run := range all {
		if err := b.client.SignalWorkflow(b.ctx, run.GetID(), "", "enough", nil); err != nil {
			t.Fatal(err)
		}
	}
	opened := 0
	for _, run := range all {
		var blocks int
		if err := run.Get(b.ctx, &blocks); err != nil {
			t.Errorf("%s: %v", run.GetID(), err)
		}
		opened += blocks
	}
	if connects := len(b.lines(b.connectsFile())); connects != opened {
		t.Errorf("the connector ran %d times for %d blocks", connects, opened)
	}
	t.Logf("%d blocks over %d restarts", opened, hosts)
}
