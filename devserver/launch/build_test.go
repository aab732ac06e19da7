package launch

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Whoever needs the program at the same time shares one build, and a later one finds it built. GOFLAGS doesn't matter.
func TestBuildHappensOnce(t *testing.T) {
	standInCheckout(t)
	t.Setenv("GOFLAGS", "-mod=mod -buildvcs=true")
	var progress transcript
	programs := make([]string, 4)
	var building sync.WaitGroup
	for i := range programs {
		building.Go(func() {
			var err error
			if programs[i], err = Build(t.Context(), &progress); err != nil {
				t.Error(err)
			}
		})
	}
	building.Wait()
	again, err := Build(t.Context(), &progress)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		if program != again || !isFile(program) {
			t.Errorf("programs %q and %q, want one that exists", program, again)
		}
	}
	if builds := strings.Count(progress.String(), "building it once"); builds != 1 {
		t.Errorf("%d builds, want 1:\n%s", builds, progress.String())
	}
}

// A change of the source gives another program; a change of a test doesn't.
func TestProgramFollowsItsSource(t *testing.T) {
	devserver := standInCheckout(t)
	build := func() string {
		program, err := Build(t.Context(), &transcript{})
		if err != nil {
			t.Fatal(err)
		}
		return program
	}
	first := build()
	write(t, filepath.Join(devserver, "main_test.go"), "package main\n")
	if program := build(); program != first {
		t.Errorf("a test changed the program: %s, then %s", first, program)
	}
	write(t, filepath.Join(devserver, "other.go"), "package main\n")
	if program := build(); program == first {
		t.Errorf("a new file left the program as it was: %s", program)
	}
}

// A build that fails shows the compiler's message, leaves nothing behind, and doesn't keep others from trying.
func TestBuildThatFails(t *testing.T) {
	devserver := standInCheckout(t)
	write(t, filepath.Join(devserver, "broken.go"), "package main\n\nvar x int = \"text\"\n")
	for range 2 {
		program, err := Build(t.Context(), &transcript{})
		wantError(t, err, devserver, "broken.go:3", "TEMPORAL_ADDRESS")
		if program != "" {
			t.Errorf("program %q, want none", program)
		}
	}
}

// Where there is nothing to build from or with, the message says what to do.
func TestBuildIsImpossible(t *testing.T) {
	t.Run("outside a checkout", func(t *testing.T) {
		emptyCache(t)
		outside := t.TempDir()
		t.Chdir(outside)
		_, err := Build(t.Context(), &transcript{})
		wantError(t, err, filepath.Base(outside), devserverModule, "TEMPORAL_ADDRESS")
	})
	t.Run("without Go", func(t *testing.T) {
		standInCheckout(t)
		t.Setenv("PATH", t.TempDir())
		_, err := Build(t.Context(), &transcript{})
		wantError(t, err, "go command", "install Go", "TEMPORAL_ADDRESS")
	})
}

// While another process builds, the context still ends the wait, and the message names the lock.
func TestWaitForAnotherBuildEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.lock")
	unlock, err := tryLock(path)
	if err != nil || unlock == nil {
		t.Fatalf("the lock can't be taken: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	progress := &cancelOnWrite{cancel: cancel}
	_, err = lock(ctx, path, progress)
	wantError(t, err, path, context.Canceled.Error())
	if !strings.Contains(progress.text.String(), "another process") {
		t.Errorf("progress %q, want it to tell of the wait", progress.text.String())
	}

	unlock()
	again, err := lock(t.Context(), path, progress)
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	again()
}

// cancelOnWrite cancels when something is written.
type cancelOnWrite struct {
	text   strings.Builder
	cancel context.CancelFunc
}

func (c *cancelOnWrite) Write(p []byte) (int, error) {
	defer c.cancel()
	return c.text.Write(p)
}

// Programs that nobody has used for long go when another one is built; the others stay.
func TestCacheIsPruned(t *testing.T) {
	emptyCache(t)
	programs, err := openCache()
	if err != nil {
		t.Fatal(err)
	}
	for key, unused := range map[string]time.Duration{"new": 0, "recent": keepUnused / 2, "old": keepUnused * 2} {
		if err := os.MkdirAll(filepath.Dir(programs.program(key)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, programs.program(key), "")
		used := time.Now().Add(-unused)
		if err := os.Chtimes(filepath.Dir(programs.program(key)), used, used); err != nil {
			t.Fatal(err)
		}
	}
	programs.prune("new")
	for key, want := range map[string]bool{"new": true, "recent": true, "old": false} {
		if got := isFile(programs.program(key)); got != want {
			t.Errorf("program %q is there: %t, want %t", key, got, want)
		}
	}
}
