package replaytests_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
)

// replayAsTheSDK replays with the SDK's own replayer and nothing else.
func replayAsTheSDK(t *testing.T, h *replaytests.History) error {
	t.Helper()
	replayer := worker.NewWorkflowReplayer()
	workflows.Register(replayer)
	return replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), &historypb.History{Events: h.Events})
}

// A file that is no history is not one that replays.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history.json")
	for content, want := range map[string]string{
		"":                             "is not the JSON of a history",
		"[]":                           "is not the JSON of a history",
		`{"events":[{"eventId":"x"}]}`: "is not the JSON of a history",
		"{}":                           "has no events",
		`{"events":[]}`:                "has no events",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := replaytests.Read(file); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v; want an error with the file and %q", content, err, want)
		}
	}
	if _, err := replaytests.Read(file + "x"); err == nil {
		t.Error("a file that is not there is read")
	}
}

// Neither is a history that shows nothing, or of which nobody knows the workflow.
func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	whole := read(t, "completed")
	other := ours()
	other.Register = func(r worker.WorkflowRegistry) { r.RegisterWorkflow(workflows.Open) }
	for name, tc := range map[string]struct {
		history *replaytests.History
		options replaytests.Options
		want    string
	}{
		"nothing":        {&replaytests.History{}, ours(), "does not begin with WorkflowExecutionStarted"},
		"no first event": {&replaytests.History{Events: whole.Events[1:]}, ours(), "does not begin with WorkflowExecutionStarted"},
		"too early":      {prefix(whole, 3), ours(), "no workflow task was completed yet"},
		"no Register":    {whole, replaytests.Options{}, "Options.Register is nil"},
		"another":        {whole, other, `Options.Register registers no workflow "completed"`},
	} {
		if err := tc.history.Replay(tc.options); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want an error with %q", name, err, tc.want)
		}
	}
}

// Our files are the SDK's, too, and those of the temporal command are ours: they have
// the events only.
func TestFormatIsTheSDKs(t *testing.T) {
	t.Parallel()
	replayer := worker.NewWorkflowReplayer()
	workflows.Register(replayer)
	if err := replayer.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		filepath.Join(histories, "v0.1.0", "completed.json")); err != nil {
		t.Error(err)
	}
	h := read(t, "completed")
	h.WorkflowID, h.RunID, h.Shows = "", "", ""
	if err := h.Replay(ours()); err != nil {
		t.Error(err)
	}
	// Written twice, the bytes are the same, and those that were read.
	again := filepath.Join(t.TempDir(), "made", "completed.json")
	whole := read(t, "completed")
	for range 2 {
		if err := whole.Write(again); err != nil {
			t.Fatal(err)
		}
		was, err := os.ReadFile(filepath.Join(histories, "v0.1.0", "completed.json"))
		if err != nil {
			t.Fatal(err)
		}
		if is, err := os.ReadFile(again); err != nil || string(is) != string(was) {
			t.Errorf("written again the history is another: %v", err)
		}
	}
}
