package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/replaytests/workflows"
)

const library = "github.com/mcpsession/mcpsession"

// notReplayed are histories that the code of a release does not replay, and must not
// be: runs that have come this far can't be rolled back to it. Each has its reason
// here, and an entry in the CHANGELOG. They are named as "histories/v0.2.0/open.json"
// is, by the release.
var notReplayed = map[string][]string{}

// The histories of today replay with the code of the last release, as they must where
// workers of both run side by side, or an upgrade is taken back. The release is the
// module that the go command makes of a file-system proxy, with nothing but the
// workflows, the harness and the histories of today put in.
func TestLastReleaseReplays(t *testing.T) {
	t.Parallel()
	r := lastRelease(t)
	today := filepath.Join(r.tree, "replaytests")
	if err := os.RemoveAll(today); err != nil {
		t.Fatal(err)
	}
	copyTree(t, filepath.Join("..", "..", "replaytests"), today, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
	copyFile(t, filepath.Join("testdata", "released_test.go"), filepath.Join(today, "released_test.go"))
	// A situation that needs what the release does not have stands in a file like this.
	later := "//go:build !before_" + tag(never) + "\n\npackage workflows\n\nimport \"github.com/mcpsession/mcpsession/toolset\"\n\nvar _ = toolset.NotInThisRelease\n"
	if err := os.WriteFile(filepath.Join(today, "workflows", "later.go"), []byte(later), 0o600); err != nil {
		t.Fatal(err)
	}

	output, err := r.test(t)
	if err != nil || !strings.Contains(output, "--- PASS: TestReleased") {
		t.Fatalf("histories of today do not replay with the code of %s: a rolling upgrade or a rollback breaks.\n%v\n%s", r.version, err, output)
	}
	if strings.Contains(output, "replayed 0 ") {
		t.Fatalf("nothing was replayed:\n%s", output)
	}

	// That it is the code of the release which is replayed with shows when that is
	// another.
	names := filepath.Join(r.tree, "queue", "name.go")
	source, err := os.ReadFile(names)
	if err != nil {
		t.Fatal(err)
	}
	mutated := bytes.Replace(source, []byte(`server + ".session"`), []byte(`server + ".holder"`), 1)
	if err := os.WriteFile(names, mutated, 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := r.test(t); err == nil || !strings.Contains(output, "wanted:   activity mcp.counter.holder") {
		t.Errorf("a release that names the session activity otherwise replays all the same: %v\n%s", err, output)
	}
}

// What a release has recorded is how its runs are, whatever comes after.
func TestReleasedHistoriesAreNotRewritten(t *testing.T) {
	t.Parallel()
	r := lastRelease(t)
	released := filepath.Join(r.tree, "replaytests", "histories")
	versions, err := workflows.Versions(released)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		files, err := filepath.Glob(filepath.Join(released, version, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("release %s has no histories of %s: %v", r.version, version, err)
		}
		for _, file := range files {
			was, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			is, err := os.ReadFile(filepath.Join(histories, version, filepath.Base(file)))
			if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(was, is) {
				t.Errorf("history %s of %s is another than release %s has, or gone: raise workflows.Recording, and record beside it",
					filepath.Base(file), version, r.version)
			} else if err != nil {
				t.Error(err)
			}
		}
	}
}

// A release is the module of one, as a tree that can be changed.
type release struct{ version, tree string }

// lastRelease returns the newest release that is pinned.
func lastRelease(t *testing.T) release {
	t.Helper()
	pinned, err := filepath.Glob(filepath.Join("released", filepath.FromSlash(library), "@v", "*.zip"))
	if err != nil || len(pinned) == 0 {
		t.Fatal("no release is pinned; run go run ./replay/pin v0.1.0 in tests", err)
	}
	var versions []string
	for _, file := range pinned {
		versions = append(versions, strings.TrimSuffix(filepath.Base(file), ".zip"))
	}
	version := slices.MaxFunc(versions, workflows.Compare)
	proxy, err := filepath.Abs("released")
	if err != nil {
		t.Fatal(err)
	}
	// In a cache of its own: a version that is pinned anew must not be the one of
	// before. It needs none of the module's dependencies.
	cmd := exec.Command("go", "mod", "download", "-json", library+"@"+version)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOMODCACHE="+t.TempDir(), "GOPROXY=file://"+filepath.ToSlash(proxy),
		"GONOSUMDB="+library, "GONOPROXY=none", "GOPRIVATE=", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local", "GOWORK=off")
	output, err := cmd.Output()
	var downloaded struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(output, &downloaded); err != nil || decodeErr != nil || downloaded.Error != "" {
		t.Fatalf("%s %s is no module: %v %v %s", library, version, err, decodeErr, output)
	}
	tree := t.TempDir()
	copyTree(t, downloaded.Dir, tree, func(string) bool { return true })
	return release{version, tree}
}

// test replays the histories in the tree, with the user's own module cache and proxy
// for what the release depends on.
func (r release) test(t *testing.T) (string, error) {
	t.Helper()
	tags := []string{"before_" + tag(never)}
	for _, s := range workflows.All {
		if workflows.Compare(s.Since, r.version) > 0 {
			tags = append(tags, "before_"+tag(s.Since))
		}
	}
	cmd := exec.Command("go", "test", "-count=1", "-v", "-tags", strings.Join(tags, ","), "-run", "TestReleased", "./replaytests")
	cmd.Dir = r.tree
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off",
		fmt.Sprintf("MCPSESSION_REPLAY_SKIP=%s", strings.Join(notReplayed[r.version], ",")))
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// never is no release.
const never = "v999.0.0"

// tag returns a version as build tags can have it.
func tag(version string) string { return strings.ReplaceAll(version, ".", "_") }

func copyTree(t *testing.T, from, to string, wanted func(name string) bool) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !wanted(entry.Name()) {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		copyFile(t, path, filepath.Join(to, relative))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
