package quickstart

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// What Interrupted listens to.
const (
	LoadedUpdate = "loaded" // returns, once the database is full, the host that holds it
	ResumeSignal = "resume" // lets the workflow go on
)

// HostTimeout is how long the host of an Interrupted session may be silent before
// it counts as lost; toolset.DefaultHeartbeatTimeout is kinder to busy hosts.
const HostTimeout = 5 * time.Second

// A Report tells what became of an Interrupted workflow.
type Report struct {
	Loss       failure.Details // why the first session was lost; without a reason if it was not
	Waited     time.Duration   // how long the call took that met the loss
	FreshHost  string          // the host of the second session
	FreshError string          // what that call returned there, before the database was filled again
	Answer     Answer          // the answer, of the second session if there was one
}

// Interrupted is TopRegion with a pause between filling the database and asking
// it, in which something should happen to the session. Nothing brings a lost
// session back, as its state is gone with it. What a workflow can do is to begin
// again, in a new block, from what it knows itself.
func Interrupted(ctx workflow.Context, sales []Sale) (Report, error) {
	var report Report
	loaded, settleLoaded := workflow.NewFuture(ctx)
	err := workflow.SetUpdateHandler(ctx, LoadedUpdate, func(ctx workflow.Context) (host string, err error) {
		err = loaded.Get(ctx, &host)
		return host, err
	})
	if err != nil {
		return report, err
	}
	options := toolset.Options{
		Server:  Server,
		Session: workflow.ActivityOptions{HeartbeatTimeout: HostTimeout},
	}

	var resumed time.Time
	err = toolset.With(ctx, options, func(ctx workflow.Context, db *toolset.Toolset) error {
		err := load(ctx, db, sales)
		if err != nil {
			return err
		}
		settleLoaded.SetValue(db.Info().Host)
		workflow.GetSignalChannel(ctx, ResumeSignal).Receive(ctx, nil)
		resumed = workflow.Now(ctx)
		report.Answer, err = ask(ctx, db)
		return err
	})
	loss, lost := failure.DedicatedWorker(err)
	if !lost {
		return report, err // nil when nothing happened
	}
	report.Loss, report.Waited = loss, workflow.Now(ctx).Sub(resumed)

	err = toolset.With(ctx, options, func(ctx workflow.Context, db *toolset.Toolset) error {
		report.FreshHost = db.Info().Host
		// What the first block would have met, had its session been replaced behind
		// its back.
		if _, err := ask(ctx, db); err != nil {
			report.FreshError = err.Error()
		}
		err := load(ctx, db, sales)
		if err != nil {
			return err
		}
		report.Answer, err = ask(ctx, db)
		return err
	})
	return report, err
}
