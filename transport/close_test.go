//go:build unix

package transport_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/transport"
)

// Close goes as far as it must, and no process of the tree is left (C14 a). Of
// those that leave the server's group that is so with a lifeline only.
func TestCloseEndsTheTree(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		switches switches
		options  transport.CommandOptions
	}{
		{
			name:     "the end of its input is enough",
			switches: switches{Grandchild: "group"},
			options:  transport.CommandOptions{CloseTimeout: time.Hour, KillTimeout: time.Hour},
		},
		{
			name:     "the end of its input is enough, though a grandchild holds its pipes",
			switches: switches{Grandchild: "pipes"},
			options:  transport.CommandOptions{CloseTimeout: time.Hour, KillTimeout: time.Hour},
		},
		{
			name:     "needs SIGTERM",
			switches: switches{Grandchild: "pipes", IgnoreEOF: true},
			options:  transport.CommandOptions{CloseTimeout: time.Millisecond, KillTimeout: time.Hour},
		},
		{
			name:     "needs SIGKILL",
			switches: switches{Grandchild: "pipes", IgnoreEOF: true, IgnoreTERM: true},
			options:  transport.CommandOptions{CloseTimeout: time.Millisecond, KillTimeout: time.Millisecond},
		},
		{
			name:     "a session of its own, polite",
			switches: switches{Grandchild: "session-pipes"},
			options:  transport.CommandOptions{CloseTimeout: time.Hour, KillTimeout: time.Hour},
		},
		{
			name:     "a session of its own, by force",
			switches: switches{Grandchild: "session-pipes", IgnoreEOF: true, IgnoreTERM: true},
			options:  transport.CommandOptions{CloseTimeout: time.Millisecond, KillTimeout: time.Millisecond},
		},
	} {
		for name, change := range lifelines() {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				session, server := open(t, change(stdioServer(t, test.switches, test.options)))
				processes := mustCall[tree](t, session, "tree", nil)
				if err := server.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				if alive(processes.PID) {
					t.Error("Close returned before the server had ended")
				}
				if err := server.Cause(); err != nil {
					t.Errorf("after a close that was asked for, Cause is %q", err)
				}
				if name == "direct" && strings.HasPrefix(test.switches.Grandchild, "session") {
					killNow(processes.Grandchild)
				}
				awaitEnd(t, processes.Grandchild)
			})
		}
	}
}

// The wrapper shape, as of npx or uvx: the server is a child of what is started,
// and the wrapper does not hand signals on (C14).
func TestCloseEndsWrappedServer(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connector := change(transport.CommandWithOptions(transport.CommandOptions{
				Env:          switches{IgnoreEOF: true, IgnoreTERM: true, Grandchild: "pipes"}.environment(roleServer),
				Logger:       quiet,
				CloseTimeout: time.Millisecond,
				KillTimeout:  time.Millisecond,
			}, "sh", "-c", `"$0"; exit $?`, executable(t)))
			session, server := open(t, connector)
			processes := mustCall[tree](t, session, "tree", nil)
			if err := server.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			awaitEnd(t, processes.PID, processes.Grandchild)
		})
	}
}

// A server that is busy writing when its input ends can finish, and is not
// stopped by a full pipe.
func TestCloseReadsOn(t *testing.T) {
	t.Parallel()
	done := filepath.Join(t.TempDir(), "done")
	server := watched(t, transport.CommandWithOptions(transport.CommandOptions{
		Env:          []string{"DONE=" + done},
		Logger:       quiet,
		CloseTimeout: patience,
	}, "sh", "-c", `cat >/dev/null
		i=0; while [ $i -lt 3000 ]; do
			echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"going down, going down"}}'
			echo 'going down, going down, going down, going down, going down' >&2
			i=$((i+1))
		done
		echo done >"$DONE"`))
	if _, err := server.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if len(readLines(done)) != 1 {
		t.Error("the server could not write what it had to")
	}
}

// A handshake that takes too long leaves no process, and another try is a clean
// start (C14 e, C17).
func TestSlowStart(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			gate, started := filepath.Join(dir, "gate"), filepath.Join(dir, "started")
			connector := change(stdioServer(t, switches{Gate: gate, Started: started}, transport.CommandOptions{}))

			server := watched(t, connector)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				_, err := connect(ctx, server)
				failed <- err
			}()
			until(t, "the server has started", func() bool { return len(readLines(started)) == 1 })
			cancel()
			if err := receive(t, "the end of Connect", failed); !errors.Is(err, context.Canceled) {
				t.Errorf("the first connect returned %v", err)
			}
			if err := server.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			first, err := strconv.Atoi(readLines(started)[0])
			if err != nil {
				t.Fatal(err)
			}
			awaitEnd(t, first)

			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			session, _ := open(t, connector)
			if got := mustCall[struct{ Count int }](t, session, "incr", nil).Count; got != 1 {
				t.Errorf("the second session counts %d", got)
			}
			if got := len(readLines(started)); got != 2 {
				t.Errorf("%d servers were started", got)
			}
		})
	}
}

// Close while the server is being started ends that start.
func TestCloseDuringConnect(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 10 {
				started := filepath.Join(t.TempDir(), "started")
				server := watched(t, change(stdioServer(t, switches{Started: started}, transport.CommandOptions{})))
				connected := make(chan error, 1)
				go func() {
					_, err := server.Connect(context.Background())
					connected <- err
				}()
				if err := server.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				if err := receive(t, "the end of Connect", connected); err == nil {
					receive(t, "the close of Gone", server.Gone())
				}
				for _, line := range readLines(started) {
					pid, err := strconv.Atoi(line)
					if err != nil {
						t.Fatal(err)
					}
					awaitEnd(t, pid)
				}
			}
		})
	}
}

// A server that exits with a status when it is closed has ended as it should: Close
// says nothing of it, and the log has it.
func TestExitStatusAtClose(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		for exit, logs := range map[string]string{"exit 0": "", "exit 7": "exited with status 7", "kill -9 $$": "was ended by signal 9 (killed)"} {
			t.Run(name+"/"+exit, func(t *testing.T) {
				t.Parallel()
				var logged recorder
				server := watched(t, change(transport.CommandWithOptions(transport.CommandOptions{
					Logger: logged.logger(), CloseTimeout: patience,
				}, "sh", "-c", "cat >/dev/null; "+exit)))
				if _, err := server.Connect(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := server.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				if server.Cause() != nil {
					t.Errorf("the cause is %v", server.Cause())
				}
				var lines []string
				for _, e := range logged.entries(t, "WARN") {
					lines = append(lines, e.Line)
				}
				if got := strings.Join(lines, "; "); got != logs {
					t.Errorf("the log has %q, want %q", got, logs)
				}
			})
		}
	}
}
