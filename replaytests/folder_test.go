package replaytests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder without a history is not one whose histories all replay.
func TestEmptyFolders(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "notes.txt"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		empty:                          "has no histories (*.json); record some with replaytests.Record",
		filepath.Join(empty, "nobody"): "nobody",
	} {
		if files, err := in(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want an error with %q", folder, files, err, want)
		}
	}
}
