package replaytests

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Options say what histories are replayed against, and what is compared. Register is
// required.
type Options struct {
	// Register registers the workflows, as it does on a worker.
	Register func(worker.WorkflowRegistry)

	// Replayer has what the workflows ran with: data converter, interceptors, plugins,
	// context propagators. Deadlocks are not looked for, whatever it says: a slow
	// machine is no difference, and a test that hangs ends by its own timeout.
	Replayer worker.WorkflowReplayerOptions

	// Exact also compares what may change while runs are open: the inputs, timeouts
	// and retry policies of activities, the inputs of child workflows and the time of
	// timers. It is for the newest history of a workflow, to be told of any change.
	Exact bool

	// AllowTaskQueue says whether an activity may go to another task queue than the
	// recorded one, because both are polled by workers that know it. Nil allows none.
	// The queue of a block's operations must never change.
	AllowTaskQueue func(activityType, recorded, wanted string) bool
}

// Replay replays each history of a folder, files that end in .json, against the
// workflows of the options, as a subtest that has the file's name. A test fails where
// the code does not ask for what was recorded, with a message that names the first
// event that differs and what the code wants instead.
//
// It fails, too, when there is nothing to replay: no folder, no history in it, a file
// that is no history, a workflow that is not registered.
func Replay(t *testing.T, folder string, options Options) {
	t.Helper()
	files, err := in(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			h, err := Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Replay(options); err != nil {
				t.Errorf("%s (%s): %v", file, cmp.Or(h.Shows, h.workflowType()), err)
			}
		})
	}
}

// in returns the files of a folder that has one at least.
func in(folder string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("replaytests: the folder of histories: %w", err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".json" {
			files = append(files, filepath.Join(folder, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("replaytests: the folder %q has no histories (*.json); record some with replaytests.Record", folder)
	}
	return files, nil
}

// Replay replays the history, without what [History.Cut] drops. Its error is a
// [*Difference] when the code does not ask for what was recorded.
func (h *History) Replay(options Options) error {
	if options.Register == nil {
		return errors.New("replaytests: Options.Register is nil; it registers the workflows")
	}
	h = &History{h.Shows, h.WorkflowID, h.RunID, h.Events}
	if err := h.Cut(); err != nil {
		return fmt.Errorf("replaytests: %w", err)
	}
	seen := new(trace)
	replayerOptions := options.Replayer
	replayerOptions.DisableDeadlockDetection = true
	replayerOptions.Plugins = append(slices.Clone(replayerOptions.Plugins), seen)
	replayer, err := worker.NewWorkflowReplayerWithOptions(replayerOptions)
	if err != nil {
		return fmt.Errorf("replaytests: Options.Replayer: %w", err)
	}
	options.Register(replayer)
	err = replayer.ReplayWorkflowHistoryWithOptions(
		log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		&historypb.History{Events: h.Events},
		worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: h.WorkflowID, RunID: h.RunID}},
	)
	if err != nil && len(seen.wishes) == 0 && strings.Contains(err.Error(), "unable to find workflow type") {
		return fmt.Errorf("replaytests: Options.Register registers no workflow %q: %w", h.workflowType(), err)
	}
	c := comparison{options.Exact, options.AllowTaskQueue, seen.dataConverter, h.RunID, h.earlierRuns()}
	if m := c.find(h.Events, seen.wishes, err != nil); m != nil {
		return h.difference(m, seen, err)
	}
	if err != nil {
		// What the trace doesn't see, such as a cancel. The SDK's own words are all.
		return &Difference{Message: err.Error(), cause: err}
	}
	return nil
}

// earlierRuns returns the ids that the run had before it was reset.
func (h *History) earlierRuns() (ids []string) {
	for _, event := range h.Events {
		failed := event.GetWorkflowTaskFailedEventAttributes()
		if failed.GetCause() != enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW || h.RunID == "" {
			continue
		}
		for _, id := range []string{failed.GetBaseRunId(), failed.GetNewRunId()} {
			if id != "" && id != h.RunID {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (h *History) workflowType() string {
	return h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()
}
