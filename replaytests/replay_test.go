// Package replaytests replays recorded histories against the code as it is now.
// A history that no longer replays means that runs which are open when a worker is
// upgraded would fail. `make record` records them again; until v0.1.0 that is the
// way to change what is recorded.
package replaytests

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/replaytests/workflows"
)

func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	for _, w := range workflows.All {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			t.Log(w.Shows)
			replayer := worker.NewWorkflowReplayer()
			workflows.Register(replayer)
			history := filepath.Join("histories", w.Name+".json")
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history); err != nil {
				t.Errorf("%s: %v", history, err)
			}
		})
	}
}

// A history that belongs to no workflow is replayed by nothing.
func TestEveryHistoryHasAWorkflow(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("histories")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, w := range workflows.All {
		known[w.Name+".json"] = true
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			t.Errorf("histories/%s has no workflow of its name", entry.Name())
		}
	}
}
