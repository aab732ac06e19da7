// This file is no part of the module that it is in: it runs in the tree of a release,
// beside the workflows and the harness as they are now.
package replaytests_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
)

func TestReleased(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("histories", "*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no histories", err)
	}
	replayed := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		// What needs a later release is not compiled in.
		if !slices.ContainsFunc(workflows.All, func(s workflows.Situation) bool { return s.Name == name }) ||
			slices.Contains(strings.Split(os.Getenv("MCPSESSION_REPLAY_SKIP"), ","), file) {
			continue
		}
		h, err := replaytests.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Replay(replaytests.Options{Register: workflows.Register}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		replayed++
	}
	t.Logf("replayed %d histories", replayed)
}
