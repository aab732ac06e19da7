package tests

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The server answers what some versions of it have behind a setting: an activity can be paused and reset.
func TestActivityPauseAndReset(t *testing.T) {
	t.Parallel()
	c := start(t).dial(t, client.DefaultNamespace)
	var attempts atomic.Int32
	flaky := func(context.Context) error {
		if attempts.Add(1) == 1 {
			return errors.New("the first attempt fails")
		}
		return nil
	}
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterWorkflow(oneActivity)
	w.RegisterActivityWithOptions(flaky, activity.RegisterOptions{Name: "flaky"})
	startWorker(t, w)

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue}, oneActivity, "flaky")
	if err != nil {
		t.Fatal(err)
	}
	execution := &common.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()}
	awaitPending(ctx, t, c, run, func(pending *workflowpb.PendingActivityInfo) bool { return pending.GetAttempt() == 2 })
	if _, err := c.WorkflowService().PauseActivity(ctx, &workflowservice.PauseActivityRequest{
		Namespace: client.DefaultNamespace, Execution: execution, Identity: "test",
		Activity: &workflowservice.PauseActivityRequest_Id{Id: activityID},
	}); err != nil {
		t.Fatal(err)
	}
	awaitPending(ctx, t, c, run, (*workflowpb.PendingActivityInfo).GetPaused)
	if _, err := c.WorkflowService().ResetActivity(ctx, &workflowservice.ResetActivityRequest{
		Namespace: client.DefaultNamespace, Execution: execution, Identity: "test",
		Activity: &workflowservice.ResetActivityRequest_Id{Id: activityID}, // Ends the pause too.
	}); err != nil {
		t.Fatal(err)
	}
	if err := run.Get(ctx, nil); err != nil {
		t.Error(err)
	}
}

// An update can start its workflow.
func TestUpdateWithStart(t *testing.T) {
	t.Parallel()
	c := start(t).dial(t, client.DefaultNamespace)
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterWorkflow(greeter)
	startWorker(t, w)

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	handle, err := c.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: c.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
			ID: "greeter", TaskQueue: taskQueue,
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		}, greeter),
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateName: "greet", Args: []any{"Ada"}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var greeting string
	if err := handle.Get(ctx, &greeting); err != nil || greeting != "Hello, Ada" {
		t.Errorf("update: %q, %v; want Hello, Ada", greeting, err)
	}
}

// A worker of a deployment gets workflows once its version is the current one.
func TestWorkerVersioning(t *testing.T) {
	t.Parallel()
	c := start(t).dial(t, client.DefaultNamespace)
	version := worker.WorkerDeploymentVersion{DeploymentName: "agents", BuildID: "1"}
	w := worker.New(c, taskQueue, worker.Options{DeploymentOptions: worker.DeploymentOptions{
		UseVersioning: true, Version: version, DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}})
	w.RegisterWorkflow(Steps)
	w.RegisterActivity(Step)
	startWorker(t, w)

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	deployment := c.WorkerDeploymentClient().GetHandle(version.DeploymentName)
	poll(ctx, t, "the version is known", func() bool {
		// Refused until the worker's first poll has made the version known.
		_, err := deployment.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: version.BuildID})
		return err == nil
	})
	if err := runSteps(t, c, 1); err != nil {
		t.Error(err)
	}
}

const activityID = "the-activity"

func oneActivity(ctx workflow.Context, name string) error {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID:          activityID,
		StartToCloseTimeout: limit,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Hour},
	}), name).Get(ctx, nil)
}

func greeter(ctx workflow.Context) error {
	greeted := false
	err := workflow.SetUpdateHandler(ctx, "greet", func(_ workflow.Context, name string) (string, error) {
		greeted = true
		return "Hello, " + name, nil
	})
	if err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return greeted })
}

// awaitPending returns when the run has one pending activity and that is as wanted.
func awaitPending(ctx context.Context, t *testing.T, c client.Client, run client.WorkflowRun,
	wanted func(*workflowpb.PendingActivityInfo) bool,
) {
	t.Helper()
	poll(ctx, t, "the pending activity is as wanted", func() bool {
		described, err := c.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID())
		if err != nil {
			t.Fatal(err)
		}
		pending := described.GetPendingActivities()
		return len(pending) == 1 && wanted(pending[0])
	})
}

// poll returns when the condition holds, and fails the test when it still doesn't at the context's end.
func poll(ctx context.Context, t *testing.T, condition string, holds func() bool) {
	t.Helper()
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for !holds() {
		select {
		case <-pause.C:
		case <-ctx.Done():
			t.Fatalf("not in time: %s", condition)
		}
	}
}
