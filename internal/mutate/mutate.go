// Package mutate builds the library with a change in it, for tests that must see
// others fail.
package mutate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Overlay returns a file for the flag -overlay of the go command, by which a build
// takes a file of the module at root with one place of it replaced. The file itself is
// left alone.
func Overlay(t testing.TB, root, file, from, to string) string {
	t.Helper()
	original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), from); n != 1 || from == "" {
		t.Fatalf("%s has %d places like %q; the mutation needs one", file, n, from)
	}
	folder := t.TempDir()
	mutated := filepath.Join(folder, "mutated.go")
	if err := os.WriteFile(mutated, []byte(strings.Replace(string(source), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}
