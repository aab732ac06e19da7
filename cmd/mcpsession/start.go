package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// The bounds of a workflow that a command runs.
const (
	// longest is how long a workflow may go on that its command has lost sight of,
	// besides the call: opening has bounds of its own.
	longest = 30 * time.Minute
	// untaken is how long a workflow may wait for a worker that seems to be there, and
	// untakenAlone for one where none seems to be.
	untaken      = 30 * time.Second
	untakenAlone = 5 * time.Second
	// refusals is how many attempts at its first task make a worker that can't.
	refusals = 3
	// cancelTime is how long a cancelled workflow may take to close its session.
	cancelTime = 20 * time.Second
	watchEvery = 500 * time.Millisecond
)

// execute runs a workflow and decodes its result. It gives up, and leaves nothing
// behind, when no worker takes the workflow; an interrupt cancels it.
func (s *settings) execute(ctx context.Context, workflowType string, timeout time.Duration, result any, input ...any) error {
	logger, err := s.logger(slog.LevelError)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	c, err := s.dial(ctx, logger)
	if err != nil {
		return err
	}
	defer c.Close()
	patience := untaken
	if s.unpolled(ctx, c) {
		patience = untakenAlone
		s.say("no worker seems to poll task queue %s; waiting %v for one", s.taskQueue, patience)
	}
	started, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: workflowType + "-" + uuid.NewString(), TaskQueue: s.taskQueue,
		WorkflowExecutionTimeout: timeout + longest,
	}, workflowType, input...)
	if err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return unreachable(err)
	}
	done := make(chan error, 1)
	go func() { done <- started.Get(context.WithoutCancel(ctx), result) }()

	watching := time.NewTicker(watchEvery)
	defer watching.Stop()
	began, taken := time.Now(), false
	for {
		select {
		case err := <-done:
			if err != nil {
				return outcome(err)
			}
			return nil
		case <-ctx.Done():
			return s.interrupt(c, started, done)
		case <-watching.C:
			if taken {
				watching.Stop()
				continue
			}
			var failing bool
			taken, failing = progress(ctx, c, started)
			if failing || !taken && time.Since(began) > patience {
				return s.giveUp(c, started, failing)
			}
		}
	}
}

// unpolled reports whether nobody has polled the task queue for workflows of late. One
// that has may be gone, and a queue of several partitions may not show one that does.
func (s *settings) unpolled(ctx context.Context, c *connected) bool {
	described, err := c.DescribeTaskQueue(ctx, s.taskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	return err == nil && len(described.GetPollers()) == 0
}

// progress reports whether a worker has got through the workflow's first task, or fails
// at it again and again.
func progress(ctx context.Context, c *connected, run client.WorkflowRun) (taken, failing bool) {
	described, err := c.DescribeWorkflow(ctx, run.GetID(), run.GetRunID())
	if err != nil {
		return false, false
	}
	task := described.RawResponse.GetPendingWorkflowTask()
	const firstTask = 3 // events: started, task scheduled, task started
	later := task.GetAttempt() <= 1 && described.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength() > firstTask
	return task == nil || later, task.GetAttempt() >= refusals
}

// giveUp ends a workflow that no worker takes, so that none does later.
func (s *settings) giveUp(c *connected, run client.WorkflowRun, failing bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	if err := c.TerminateWorkflow(ctx, run.GetID(), run.GetRunID(), "no worker took it"); err != nil {
		return unreachable(fmt.Errorf("workflow %s can't be terminated: %w", run.GetID(), err))
	}
	// It may have been taken in the last moment.
	const untouched = 3 // events: started, task scheduled, terminated
	described, err := c.DescribeWorkflow(ctx, run.GetID(), run.GetRunID())
	switch {
	case failing:
		err = fmt.Errorf("a worker polls task queue %s that can't run %s; is it one of another program? Start \"mcpsession worker --config FILE --task-queue NAME\" with a queue of its own",
			s.taskQueue, run.GetID())
	case err == nil && described.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength() > untouched:
		return &fault{code: exitCall, err: fmt.Errorf("workflow %s was given up as a worker had just taken it; whether the tool ran is unknown", run.GetID())}
	default:
		err = fmt.Errorf("no worker polls task queue %s of namespace %s; start one: mcpsession worker --config FILE --task-queue %s",
			s.taskQueue, c.options.Namespace, s.taskQueue)
	}
	return &fault{code: exitTemporal, err: err}
}

// interrupt cancels the workflow and waits until it has closed its session.
func (s *settings) interrupt(c *connected, run client.WorkflowRun, done <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTime)
	defer cancel()
	s.say("interrupted; closing the session")
	if err := c.CancelWorkflow(ctx, run.GetID(), run.GetRunID()); err != nil {
		return &fault{code: exitInterrupted, err: fmt.Errorf("interrupted; workflow %s can't be cancelled: %w", run.GetID(), err)}
	}
	select {
	case <-done:
		return errInterrupted
	case <-ctx.Done():
		return &fault{code: exitInterrupted, err: errors.New("interrupted; workflow " + run.GetID() + " takes long to end and goes on without us")}
	}
}
