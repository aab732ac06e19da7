package transport_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/transport"
)

// A program that finds the marker in its environment by mistake says so, and
// does not hang.
func TestLifelineMarkedByMistake(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(executable(t))
	cmd.Env = append(cmd.Environ(), transport.LifelineVariable+"=1")
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(output), "unset it") {
		t.Errorf("it ended with %v and said %q", err, output)
	}
}

// A program whose packages can't be initialised again is told why.
func TestSupervisorFails(t *testing.T) {
	t.Setenv("TRANSPORT_TEST_BROKEN", "1")
	server := watched(t, transport.WithLifeline(stdioServer(t, switches{}, transport.CommandOptions{})))
	_, err := server.Connect(t.Context())
	if err == nil {
		t.Fatal("the server was started")
	}
	for _, part := range []string{
		executable(t),
		"is transport.Lifeline the first statement of main?",
		`the end of its stderr: "init: API_KEY is not set"`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error %q does not say %q", err, part)
		}
	}
	select {
	case <-server.Gone():
		t.Error("Gone is closed though Connect has failed")
	default:
	}
}

// The supervisor runs where the worker runs, and with its environment: there the
// program has been able to start before. The server gets its own.
func TestSupervisorEnvironment(t *testing.T) {
	t.Setenv("OF_THE_WORKER", "1")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	session, _ := open(t, transport.WithLifeline(stdioServer(t, switches{}, transport.CommandOptions{
		Dir: dir,
		Env: []string{"LINES=one\ntwo", "EMPTY="},
	})))
	got := mustCall[place](t, session, "place", nil)
	if got.Directory != dir {
		t.Errorf("the server runs in %q", got.Directory)
	}
	for _, want := range []string{"LINES=one\ntwo", "EMPTY="} {
		if !slices.Contains(got.Environment, want) {
			t.Errorf("the server lacks %q", want)
		}
	}
	for _, entry := range got.Environment {
		if strings.HasPrefix(entry, transport.LifelineVariable) || strings.HasPrefix(entry, "OF_THE_WORKER=") {
			t.Errorf("the server has %q", entry)
		}
	}

	supervisor := parentOf(t, mustCall[tree](t, session, "tree", nil).PID)
	there, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", supervisor))
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if there != here {
		t.Errorf("the supervisor runs in %q, not in %q", there, here)
	}
}
