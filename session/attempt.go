package session

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/internal/thrown"
	"github.com/mcpsession/mcpsession/queue"
)

// The bounds of one attempt's steps.
const (
	// confirmTimeout is how long the server may take to have and to show the
	// may-be-open marker.
	confirmTimeout = 10 * time.Second
	// listenTimeout is how long an attempt that must hear from its block waits.
	listenTimeout = 10 * time.Second
	// reportTimeout bounds the report of an attempt's end that does not go through
	// the worker.
	reportTimeout = 10 * time.Second
)

// An attempt is one attempt of a session activity.
type attempt struct {
	host   *host
	server *Server
	warm   *warmUse
	input  queue.SessionInput
	client client.Client
	info   activity.Info
	logger log.Logger
	author heartbeat.Author
	tally  tally

	// What an attempt has from its first step on; nil when it was refused there.
	writer       *heartbeat.Writer
	block        *block
	stopWatching func()
	leaves       heartbeat.Marker // what clear leaves to the next attempt
}

// sessionActivity returns the session activity of one server.
func (h *host) sessionActivity(server *Server) func(context.Context, queue.SessionInput) error {
	return func(ctx context.Context, input queue.SessionInput) error {
		a := &attempt{
			host: h, server: server, warm: h.warm[server], input: input,
			client: activity.GetClient(ctx), info: activity.GetInfo(ctx), logger: activity.GetLogger(ctx),
		}
		if err := a.checkInput(); err != nil {
			return a.openFailure(failure.ReasonBadInput, err)
		}
		if !h.enter() {
			// Not an attempt that failed: a poll that was under way when the worker
			// began to stop. Each such poll takes one task, and toolset.Open goes on.
			return a.report(ctx, a.openFailure(failure.ReasonWorkerStopped, errWorkerStopping))
		}
		if h.options == nil {
			a.warm.stopWith(activity.GetWorkerStopChannel(ctx))
		}
		err := a.runSafely(ctx)
		if err == nil && !isClosed(h.stopping) {
			// The answer to close-session and this activity's completion go out side
			// by side: a workflow that ends with its block then gets both in one task.
			go func() {
				a.release()
				h.leave()
			}()
			return nil
		}
		// The attempt counts as one until its end is reported, so that a worker
		// that stops can wait for that.
		defer h.leave()
		a.release()
		if isClosed(h.stopping) || temporal.IsCanceledError(err) {
			return a.report(ctx, err)
		}
		return err
	}
}

var errWorkerStopping = errors.New("the worker that took the session is stopping")

// runSafely is run, of which a panic is the attempt's failure: the SDK would
// recover it too, but with the session left behind.
func (a *attempt) runSafely(ctx context.Context) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		a.logger.Error("mcpsession: the session activity panicked", "error", thrown.Error("it", p), "stack", string(debug.Stack()))
		if a.block == nil {
			err = a.retryable(failure.ReasonConnect, thrown.Error("the session activity", p))
			return
		}
		a.block.end(lost(failure.ReasonDedicatedWorker, "%v", thrown.Error("its host", p)))
		if a.block.conn != nil && !isClosed(a.block.over) {
			a.block.close()
		}
		err = a.block.ending().err(a)
	}()
	return a.run(ctx)
}

// checkInput refuses a session activity that no toolset has scheduled.
func (a *attempt) checkInput() error {
	switch {
	case a.info.WorkflowExecution.RunID == "" || a.input.RunID == "" || a.input.Key == "":
		return errors.New("the session activity's input names no block of a workflow run; schedule it by package toolset")
	case a.info.HeartbeatTimeout == 0:
		return errors.New("the session activity has no heartbeat timeout, so a lost host would stay unknown; schedule it by package toolset")
	}
	return nil
}

// run takes an attempt through its steps; see the package comment. Each step says
// what the next attempt finds when the process dies right after it.
func (a *attempt) run(ctx context.Context) error {
	// 1. Read the past. Leaves nothing.
	facts := heartbeat.Facts{
		InputRunID: a.input.RunID,
		RunID:      a.info.WorkflowExecution.RunID,
		Past:       heartbeat.ReadPast(ctx),
	}
	if verdict := heartbeat.Decide(facts); verdict.Decision == heartbeat.Refuse {
		return a.refused(verdict, facts.Past)
	}

	a.author = heartbeat.Author{Attempt: a.info.Attempt, Host: a.host.identity(), At: time.Now().UTC()}
	a.tally.of(a.input.Key)
	a.writer = heartbeat.NewWriter(heartbeat.WriterOptions{
		Recorder: a.client, Info: a.info, Author: a.author, Tally: a.tally.read, Logger: a.logger,
	})
	a.writer.Start()
	a.block = newBlock(ctx, a, rand.Text())
	a.stopWatching = a.watch(ctx)
	a.leaves = facts.Past.Marker

	// 2. Build the transport. Leaves nothing: a connector holds nothing yet.
	opener := a.opener()
	carrier, err := opener.connector(a.block.ctx)
	if err != nil {
		return a.ended(opener.failure(err))
	}

	// 3. Say that a session may be open, and see that the server has it. From here
	// on a crash leaves may-be-open, and no later attempt opens.
	if err := a.announce(facts); err != nil {
		return a.ended(err)
	}

	// 4. Connect. Every way out without a session clears the marker.
	conn, err := opener.connect(a.block.ctx, carrier)
	if e := a.block.ending(); e != nil && err == nil {
		// Ended before it could be used: there is nothing to lose.
		_ = conn.close()
		err = e
	}
	if err != nil {
		a.clear()
		return a.ended(opener.failure(err))
	}
	a.block.attach(conn)

	// 5. Say that the session is open, before it can serve anything. A failure
	// here leaves a marker that refuses, as it must: there was a session.
	if err := a.mark(heartbeat.Opened); err != nil {
		a.checkOwner()
		a.block.end(lost(failure.ReasonHostLost, "the marker of the opened session could not be written: %v", err))
	} else {
		// 6. Serve.
		a.block.serve()
	}

	// 7. End.
	a.block.close()
	return a.block.ending().err(a)
}

// release frees what an attempt holds besides its session. It beats to the last,
// since the dedicated worker may take a while to stop.
func (a *attempt) release() {
	if a.block == nil {
		return
	}
	a.block.release()
	a.stopWatching()
	a.writer.Stop()
}

// report sends the attempt's end to the server itself and waits for the answer.
func (a *attempt) report(ctx context.Context, err error) error {
	if reportErr := reportEnd(ctx, a.client, a.info, nil, err); reportErr != nil {
		a.logger.Warn("mcpsession: the end of a session could not be reported", "error", reportErr)
		return err
	}
	return activity.ErrResultPending
}

// reportEnd sends the end of an activity to the server and waits for the answer.
// The SDK would report a cancel that it did not notice itself as a failure, and a
// worker that stops does not wait for what it sends.
func reportEnd(ctx context.Context, c client.Client, info activity.Info, result any, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	return c.CompleteActivityWithOptions(ctx, client.CompleteActivityOptions{
		TaskToken:    info.TaskToken,
		Result:       result,
		Err:          err,
		Namespace:    info.Namespace,
		WorkflowID:   info.WorkflowExecution.ID,
		WorkflowType: info.WorkflowType.Name,
		ActivityType: info.ActivityType.Name,
		TaskQueue:    info.TaskQueue,
	})
}
