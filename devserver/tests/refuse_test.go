package tests

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A command line that can't be served is refused with one line that names the flag, the value, and what to do.
func TestRefusedCommandLines(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	address := taken.Addr().String()
	missing := filepath.Join(t.TempDir(), "missing")

	const usage, failed = 2, 1
	for name, test := range map[string]struct {
		flags  []string
		status int
		says   []string
	}{
		"frontend port taken": {
			[]string{"-address", address, "-ui", "none"}, failed,
			[]string{"-address " + address, "in use", "give another"},
		},
		"web UI port taken": {
			[]string{"-address", "127.0.0.1:0", "-ui", address}, failed,
			[]string{"-ui " + address, "in use", "give another"},
		},
		"no directory for the database": {
			[]string{"-address", "127.0.0.1:0", "-ui", "none", "-db", filepath.Join(missing, "temporal.db")}, failed,
			[]string{"-db " + missing, "no directory " + missing, "create it"},
		},
		"directory as the database": {
			[]string{"-address", "127.0.0.1:0", "-ui", "none", "-db", t.TempDir()}, failed,
			[]string{"-db", "name another file"},
		},
		"unknown flag":       {[]string{"-port", "1"}, usage, []string{"-port", "-help"}},
		"argument":           {[]string{"start"}, usage, []string{`"start"`, "flags"}},
		"unknown log level":  {[]string{"-log-level", "loud"}, usage, []string{"-log-level", `"loud"`, "use one of debug"}},
		"address no port":    {[]string{"-address", "localhost"}, usage, []string{"-address", `"localhost"`, "host:port"}},
		"address no host":    {[]string{"-address", ":7233"}, usage, []string{"-address", `":7233"`, "127.0.0.1:7233"}},
		"address bad port":   {[]string{"-address", "127.0.0.1:70000"}, usage, []string{"-address", `"70000"`, "65535"}},
		"web UI no port":     {[]string{"-ui", "off"}, usage, []string{"-ui", `"off"`, `"none"`}},
		"namespace empty":    {[]string{"-namespace", "one,,two"}, usage, []string{"-namespace", `"one,,two"`, "one,two"}},
		"namespace system":   {[]string{"-namespace", "temporal-system"}, usage, []string{"-namespace", "name another"}},
		"setting no value":   {[]string{"-dynamic-config", "history.rps"}, usage, []string{"-dynamic-config", "key=value"}},
		"setting unknown":    {[]string{"-dynamic-config", "history.rpm=1"}, usage, []string{"-dynamic-config", `"history.rpm"`}},
		"setting wrong type": {[]string{"-dynamic-config", "history.rps=many"}, usage, []string{"history.rps=many", "not int"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, message := refuse(t, test.flags...)
			if status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if strings.Count(message, "\n") != 1 {
				t.Errorf("message of %d lines, want one:\n%s", strings.Count(message, "\n"), message)
			}
			for _, part := range test.says {
				if !strings.Contains(message, part) {
					t.Errorf("message %q, want it to say %q", message, part)
				}
			}
		})
	}
}

// refuse runs the devserver with flags that it must not accept, and returns its exit status and message.
func refuse(t *testing.T, flags ...string) (status int, message string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var stdout, stderr lockedBuffer
	command := exec.CommandContext(ctx, program, flags...)
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("devserver %s: %v, want an exit status other than 0", strings.Join(flags, " "), err)
	}
	if stdout.String() != "" {
		t.Errorf("devserver %s: %q on standard output, want nothing", strings.Join(flags, " "), stdout.String())
	}
	return exit.ExitCode(), stderr.String()
}
