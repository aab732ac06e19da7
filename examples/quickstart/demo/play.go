package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/examples/quickstart"
	"github.com/mcpsession/mcpsession/failure"
)

// margin is what the news of a lost host may take beyond quickstart.HostTimeout:
// another host has to be asked first, a second later.
const margin = 10 * time.Second

// A play is what the demo shows, scene by scene.
type play struct {
	client    client.Client
	processes *processes
	taskQueue string
}

func (p *play) run(ctx context.Context) error {
	say("Two processes: one runs workflows, the other is a host of sessions")
	workflows, err := p.startWorker("workflows", "workflows")
	if err != nil {
		return err
	}
	hostA, err := p.startWorker("host A", "sessions")
	if err != nil {
		return err
	}
	tell("workflows is pid %d, host A is pid %d", workflows.pid(), hostA.pid())

	if err := p.oneBlock(ctx); err != nil {
		return err
	}
	return p.lostHost(ctx, hostA)
}

func (p *play) oneBlock(ctx context.Context) error {
	say("A workflow with one block, whose calls all reach the same session")
	begin := time.Now()
	run, release, err := p.startWorkflow(ctx, quickstart.TopRegion)
	if err != nil {
		return err
	}
	defer release()
	var answer quickstart.Answer
	if err := run.Get(ctx, &answer); err != nil {
		return err
	}
	tell("TopRegion answered in %s: %v", seconds(time.Since(begin)), answer)
	return verify(claim{"the answer is right", answer == quickstart.SalesAnswer})
}

func (p *play) lostHost(ctx context.Context, hostA *process) error {
	say("A block whose host is killed in the middle of it")
	run, release, err := p.startWorkflow(ctx, quickstart.Interrupted)
	if err != nil {
		return err
	}
	defer release()
	holder, err := p.awaitLoaded(ctx, run)
	if err != nil {
		return err
	}
	tell("Interrupted has filled its database, in a session on %s", holder)
	if err := hostA.kill(); err != nil {
		return err
	}
	tell("SIGKILL to host A, pid %d", hostA.pid())
	hostB, err := p.startWorker("host B", "sessions")
	if err != nil {
		return err
	}
	tell("host B has started as pid %d, and could take over", hostB.pid())
	tell("Interrupted goes on and calls a tool …")
	if err := p.client.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), quickstart.ResumeSignal, nil); err != nil {
		return err
	}
	var report quickstart.Report
	if err := run.Get(ctx, &report); err != nil {
		return err
	}
	loss := report.Loss
	tell("… which fails after %s with a %s:", seconds(report.Waited), failure.TypeDedicatedWorker)
	tell("    reason:    %s", loss.Reason)
	tell("    session:   opened by attempt %d, on %s", loss.Attempt, loss.Host)
	tell("    tool:      %s; did it run: %s", loss.Tool, loss.ToolRan)

	say("A block of its own for the second try")
	tell("A new session on %s. The same call there:", report.FreshHost)
	tell("    %s", report.FreshError)
	tell("This is what the first block would have run into, had its session been replaced")
	tell("without a word. Interrupted fills the new database instead, and asks again:")
	tell("    %v", report.Answer)

	return verify(
		claim{"the session was on host A", hostA.is(holder)},
		claim{"the loss has reason host-lost", loss.Reason == failure.ReasonHostLost},
		claim{"the loss names host A", loss.Host == holder},
		claim{"the session was opened once", loss.Attempt == 1},
		claim{"the call that failed is one of query", loss.Tool == "query"},
		claim{"whether that ran is unknown", loss.ToolRan == failure.RanUnknown},
		claim{"the loss was told in time", report.Waited < quickstart.HostTimeout+margin},
		claim{"the new session is on host B", hostB.is(report.FreshHost)},
		claim{"the new session is empty", strings.Contains(report.FreshError, "no such table: sales")},
		claim{"the answer is right", report.Answer == quickstart.SalesAnswer},
	)
}

func (p *play) startWorker(name, role string) (*process, error) {
	return p.processes.start(name, "-task-queue", p.taskQueue, "-role", role)
}

// startWorkflow starts a workflow. The caller releases it in the end, which leaves
// nothing running on the server.
func (p *play) startWorkflow(ctx context.Context, workflow any) (run client.WorkflowRun, release func(), err error) {
	options := client.StartWorkflowOptions{TaskQueue: p.taskQueue}
	run, err = p.client.ExecuteWorkflow(ctx, options, workflow, quickstart.Sales)
	if err != nil {
		return nil, nil, err
	}
	return run, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		// An error says that the workflow is over, as it should be.
		_ = p.client.TerminateWorkflow(ctx, run.GetID(), run.GetRunID(), "the demo is over")
	}, nil
}

// awaitLoaded returns the identity of the host that holds an Interrupted
// workflow's session, once the database there is full.
func (p *play) awaitLoaded(ctx context.Context, run client.WorkflowRun) (host string, err error) {
	update, err := p.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   run.GetID(),
		RunID:        run.GetRunID(),
		UpdateName:   quickstart.LoadedUpdate,
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return "", err
	}
	err = update.Get(ctx, &host)
	return host, err
}

// A claim is something that the demo must have seen.
type claim struct {
	what  string
	holds bool
}

func verify(claims ...claim) error {
	for _, c := range claims {
		if !c.holds {
			return fmt.Errorf("it was to be seen that %s, and it was not", c.what)
		}
	}
	return nil
}
