package workflows

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The newest history of a situation is that of the highest release, by number.
func TestNewest(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, file := range []string{"v0.10.0/a.json", "v0.9.0/a.json", "v0.9.0/b.json", "v1.0.0/c.json"} {
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if versions, err := Versions(folder); err != nil || !slices.Equal(versions, []string{"v0.9.0", "v0.10.0", "v1.0.0"}) {
		t.Errorf("versions %q, %v", versions, err)
	}
	for situation, want := range map[string]string{"a": "v0.10.0", "b": "v0.9.0", "c": "", "d": ""} {
		if file, version := Newest(folder, situation, "v0.10.0"); version != want || (file == "") != (want == "") {
			t.Errorf("%s: %q of %q, want %q", situation, file, version, want)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "next"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Versions(folder); err == nil {
		t.Error("a folder that is no release is one")
	}
}

// Each situation has a name of its own, a line that says what it shows, and a release.
func TestSituationsAreComplete(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, s := range All {
		if _, err := number(s.Since); err != nil || names[s.Name] || s.Name == "" || s.Shows == "" || s.Run == nil {
			t.Errorf("the situation %+v is not complete: %v", s, err)
		}
		names[s.Name] = true
	}
}
