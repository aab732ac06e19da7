package replaytests_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

const histories = "histories"

// ours are the options by which our own histories are replayed.
func ours() replaytests.Options { return replaytests.Options{Register: workflows.Register} }

// The histories of every release replay, as runs that were open at an upgrade do.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	versions, err := workflows.Versions(histories)
	if err != nil {
		t.Fatal(err)
	}
	if len(versions) == 0 {
		t.Fatal("there are no histories")
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { replaytests.Replay(t, filepath.Join(histories, version), ours()) })
	}
}

// The newest history of each situation has what the code asks for to the last option:
// those may change between releases, but not without a history that shows it.
func TestNewestHistoriesAreExact(t *testing.T) {
	t.Parallel()
	for _, s := range workflows.All {
		t.Run(s.Name, func(t *testing.T) {
			file, _ := workflows.Newest(histories, s.Name, workflows.Recording)
			if file == "" {
				t.Fatal("there is no history; run make record")
			}
			h, err := replaytests.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if h.Shows != s.Shows {
				t.Errorf("%s says that it shows %q; the situation says %q", file, h.Shows, s.Shows)
			}
			options := ours()
			options.Exact = true
			if err := h.Replay(options); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		})
	}
}

// The plugin of package session changes nothing of a replay.
func TestHistoriesReplayWithThePlugin(t *testing.T) {
	t.Parallel()
	plugin, err := session.NewPlugin(session.Options{Servers: []session.Server{
		{Name: workflows.Server, Connect: transport.Command("counter")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	options := ours()
	options.Replayer.Plugins = []worker.Plugin{plugin}
	versions, _ := workflows.Versions(histories)
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { replaytests.Replay(t, filepath.Join(histories, version), options) })
	}
}

// A history of a situation that is no more is replayed by nothing, and one that has
// the path or the name of a machine in it differs with each recording.
func TestHistoriesAreOfSituationsAndOfNoMachine(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(histories, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no histories", err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if !slices.ContainsFunc(workflows.All, func(s workflows.Situation) bool { return s.Name == name }) {
			t.Errorf("%s has no situation of its name", file)
		}
		h, err := replaytests.Read(file)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, word := range append(machineWords, host) {
			if found := textOf(h); strings.Contains(found, word) {
				at := strings.Index(found, word)
				t.Errorf("%s has %q: …%s…", file, word, found[max(0, at-60):min(len(found), at+60)])
			}
		}
	}
}

var machineWords = []string{"/tmp", "/home", "/root", "/Users", "/usr", ":\\", "127.0.0.1", "localhost", ".go:", "goroutine "}
