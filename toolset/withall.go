package toolset

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
)

// WithAll opens a block of each of the options at once, runs body with them, in
// their order, and closes all. When one can't be opened, those that were are closed,
// body isn't run, and the error is the first one's that failed, in the order of the
// options. Otherwise it returns what [With] would for one block; of several lost
// sessions, the first in their order.
func WithAll(ctx workflow.Context, options []Options, body func(ctx workflow.Context, all []*Toolset) error) error {
	if len(options) == 0 {
		return errors.New("toolset: WithAll needs the options of one block at least")
	}
	all := make([]*Toolset, len(options))
	err := each(ctx, len(options), func(ctx workflow.Context, i int) (err error) {
		all[i], err = Open(ctx, options[i])
		return err
	})
	if err == nil {
		// Not deferred: the SDK runs defers when it evicts a workflow, too.
		err = body(ctx, all)
	}
	closeErr := each(ctx, len(all), func(ctx workflow.Context, i int) error {
		if all[i] == nil {
			return nil // it did not open
		}
		return all[i].Close(ctx)
	})
	if err != nil && closeErr != nil && !failure.IsDedicatedWorker(err) {
		workflow.GetLogger(ctx).Warn("mcpsession: closing several blocks after an error failed, too", "error", closeErr)
	}
	return both(err, closeErr)
}

// each runs f for each index side by side, and returns the error of the lowest that
// failed.
func each(ctx workflow.Context, n int, f func(ctx workflow.Context, i int) error) error {
	errs := make([]error, n)
	// Who waits for them does not stop at a cancel: each ends by its own.
	uncancelled, _ := workflow.NewDisconnectedContext(ctx)
	group := workflow.NewWaitGroup(uncancelled)
	for i := range n {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			errs[i] = f(ctx, i)
		})
	}
	group.Wait(uncancelled)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
