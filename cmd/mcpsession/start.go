package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// The bounds of a workflow that a command runs.
const (
	// longest is how long a workflow may go on that its command has lost sight of,
	// besides the call: opening has bounds of its own.
	longest = 30 * time.Minute
	// cancelTime is how long a cancelled workflow may take to close its session.
	cancelTime = 20 * time.Second
	// watchEvery is how often it is asked how the workflow is, for describeTimeout.
	watchEvery      = 500 * time.Millisecond
	describeTimeout = 5 * time.Second
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
	id := workflowType + "-" + uuid.NewString()
	// An interrupt comes after the answer: one that is started must be cancelled.
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
	started, err := c.ExecuteWorkflow(starting, client.StartWorkflowOptions{
		ID: id, TaskQueue: s.taskQueue, WorkflowExecutionTimeout: timeout + longest,
	}, workflowType, input...)
	cancel()
	if err != nil {
		return unreachable(err)
	}
	done := make(chan error, 1)
	go func() { done <- started.Get(context.WithoutCancel(ctx), result) }()

	watching := time.NewTicker(watchEvery)
	defer watching.Stop()
	w, words := &watch{patience: patience, heard: time.Now()}, &words{began: time.Now(), say: s.say}
	for {
		select {
		case err := <-done:
			if err != nil {
				return outcome(err)
			}
			return nil
		case <-ctx.Done():
			stop() // a second signal ends at once
			return s.interrupt(c, started, done)
		case <-watching.C:
			described, unanswered := describe(ctx, c, started)
			if v := w.see(described, unanswered, time.Now()); v != goesOn {
				return s.giveUp(c, started, workflowType, v)
			}
			if w.taken && described != nil {
				words.tell(described)
			}
		}
	}
}

// describe asks Temporal how the workflow is. It reports whether there was no answer;
// one that is refused is an answer, without a description.
func describe(ctx context.Context, c *connected, run client.WorkflowRun) (described *workflowservice.DescribeWorkflowExecutionResponse, unanswered bool) {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	got, err := c.DescribeWorkflow(ctx, run.GetID(), run.GetRunID())
	if err == nil {
		return got.RawResponse, false
	}
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	return nil, errors.As(err, &unavailable) || errors.As(err, &late) || ctx.Err() != nil
}

// unpolled reports whether nobody has polled the task queue for workflows of late. One
// that has may be gone, and a queue of several partitions may not show one that does.
func (s *settings) unpolled(ctx context.Context, c *connected) bool {
	described, err := c.DescribeTaskQueue(ctx, s.taskQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	return err == nil && len(described.GetPollers()) == 0
}

// giveUp ends a workflow that no worker takes, so that none does later.
func (s *settings) giveUp(c *connected, run client.WorkflowRun, workflowType string, v verdict) error {
	if v == temporalSilent {
		return &fault{code: exitTemporal, err: fmt.Errorf("temporal at %s has not answered for %v; workflow %s goes on without us, and whether the tool ran is unknown",
			c.options.HostPort, silence, run.GetID())}
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	if err := c.TerminateWorkflow(ctx, run.GetID(), run.GetRunID(), "no worker took it"); err != nil {
		return unreachable(fmt.Errorf("workflow %s can't be terminated: %w", run.GetID(), err))
	}
	// It may have been taken in the last moment.
	const untouched = 3 // events: started, task scheduled, terminated
	described, err := c.DescribeWorkflow(ctx, run.GetID(), run.GetRunID())
	switch {
	case v == noLongerTaken:
		return &fault{code: exitCall, err: fmt.Errorf("the worker is gone, and for %v no other on task queue %s has gone on with workflow %s, which was ended; whether the tool ran is unknown",
			abandoned, s.taskQueue, run.GetID())}
	case v == notRunnable:
		err = fmt.Errorf("a worker polls task queue %s that can't run workflows of type %s; is it one of another program? Start \"mcpsession worker --config FILE --task-queue NAME\" with a queue of its own",
			s.taskQueue, workflowType)
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
	s.say("interrupted; closing the session (a second signal ends at once)")
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
