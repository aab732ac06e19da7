//go:build unix

package transport_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpsession/mcpsession/transport"
)

// The cause of a loss is how the process ended, and what it said last (C7).
func TestExitIsTheCause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		exit exitWith
		want string
	}{
		{"status", exitWith{Status: 3}, "exited with status 3"},
		{"status 0", exitWith{}, "exited with status 0"},
		{"a shell's status for a signal", exitWith{Status: 137}, "exited with status 137"},
		{"killed", exitWith{Signal: int(syscall.SIGKILL)}, "was ended by signal 9 (killed)"},
		{"terminated", exitWith{Signal: int(syscall.SIGTERM)}, "was ended by signal 15 (terminated)"},
		{
			"last words",
			exitWith{Status: 1, Stderr: "a line\nno \"key\" is set, giving up\n"},
			`exited with status 1; the end of its stderr: "a line\nno \"key\" is set, giving up"`,
		},
		{
			"last words without a line's end",
			exitWith{Status: 1, Stderr: "giving up"},
			`exited with status 1; the end of its stderr: "giving up"`,
		},
	} {
		for name, change := range lifelines() {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				session, server := open(t, change(stdioServer(t, switches{}, transport.CommandOptions{})))
				if err := call(t.Context(), session, "exit", test.exit, nil); err == nil {
					t.Error("the call that ends the server succeeded")
				}
				if got, want := awaitGone(t, server), executable(t)+" "+test.want; got != want {
					t.Errorf("the cause is\n\t%s\nnot\n\t%s", got, want)
				}
			})
		}
	}
}

// A server that ends before the handshake is done has its cause too.
func TestExitAtStart(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := watched(t, change(transport.CommandWithOptions(transport.CommandOptions{Logger: quiet},
				"sh", "-c", `echo "usage: server --key KEY" >&2; exit 64`)))
			if _, err := connect(t.Context(), server); err == nil {
				t.Fatal("a session opened")
			}
			want := `sh exited with status 64; the end of its stderr: "usage: server --key KEY"`
			if got := awaitGone(t, server); got != want {
				t.Errorf("the cause is %s", got)
			}
		})
	}
}

// Some servers complain on stdout.
func TestExitAfterNoiseOnly(t *testing.T) {
	t.Parallel()
	server := watched(t, transport.CommandWithOptions(transport.CommandOptions{Logger: quiet},
		"sh", "-c", `echo "error: no key"; exit 1`))
	if _, err := connect(t.Context(), server); err == nil {
		t.Fatal("a session opened")
	}
	want := `sh exited with status 1; the last line on its stdout that was no message: "error: no key"`
	if got := awaitGone(t, server); got != want {
		t.Errorf("the cause is %s", got)
	}
}

// What a server started and left behind must not hide its exit, whatever of the
// server's it holds open. What is in the server's group, and with a lifeline all
// of it, is ended.
func TestGrandchildDoesNotHideExit(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		for _, grandchild := range []string{"group", "pipes", "session", "session-pipes"} {
			t.Run(name+"/"+grandchild, func(t *testing.T) {
				t.Parallel()
				session, server := open(t, change(stdioServer(t, switches{}, transport.CommandOptions{})))
				started := mustCall[tree](t, session, "start", kind{grandchild})
				leaves := name == "direct" && strings.HasPrefix(grandchild, "session")
				if leaves {
					t.Cleanup(func() { killNow(started.Grandchild) })
				}

				_ = call(t.Context(), session, "exit", exitWith{Status: 3, Stderr: "last words"}, nil)
				want := executable(t) + ` exited with status 3; the end of its stderr: "last words"`
				if got := awaitGone(t, server); got != want {
					t.Errorf("the cause is %s", got)
				}
				if leaves {
					if !alive(started.Grandchild) {
						t.Error("the grandchild did not outlive the server: what does this test show?")
					}
					return
				}
				awaitEnd(t, started.Grandchild)
			})
		}
	}
}

// A server that lives but has closed its stdout can't answer any more: lost.
func TestClosedStdoutIsTheCause(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, server := open(t, change(stdioServer(t, switches{IgnoreEOF: true, Grandchild: "group"}, transport.CommandOptions{})))
			processes := mustCall[tree](t, session, "tree", nil)
			if err := call(t.Context(), session, "close", stream{1}, nil); err == nil {
				t.Error("a call succeeded whose answer had nowhere to go")
			}
			want := executable(t) + " closed its stdout and did not exit within 1s after it; it was killed"
			if got := awaitGone(t, server); got != want {
				t.Errorf("the cause is %s", got)
			}
			awaitEnd(t, processes.PID, processes.Grandchild)
		})
	}
}

// That a server has closed its stdin shows when something is written.
func TestClosedStdinIsTheCause(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := watched(t, change(transport.CommandWithOptions(transport.CommandOptions{Logger: quiet},
				"sh", "-c", "exec <&-; sleep 300 >&2")))
			connection, err := server.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			until(t, "a write fails", func() bool {
				ctx, send := transport.TrackSend(t.Context())
				err = connection.Write(ctx, request(t, 1, "ping"))
				if !send.Began() {
					t.Error("the failed write has not begun")
				}
				return err != nil
			})
			if !errors.Is(err, syscall.EPIPE) || !strings.Contains(err.Error(), "sh no longer reads its input") {
				t.Errorf("the write failed with %v", err)
			}
			want := "sh closed its stdin and did not exit within 1s after it; it was killed"
			if got := awaitGone(t, server); got != want {
				t.Errorf("the cause is %s", got)
			}
		})
	}
}

// A result that was written before the exit has been read when Gone closes: it
// is a result, not a loss.
func TestResultBeforeExit(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := watched(t, change(transport.CommandWithOptions(transport.CommandOptions{Logger: quiet},
				"sh", "-c", `read -r request; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; exit 3`)))
			connection, err := server.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := connection.Write(t.Context(), request(t, 1, "ping")); err != nil {
				t.Fatal(err)
			}
			messages := make(chan jsonrpc.Message, 2)
			go func() {
				for {
					message, err := connection.Read(context.Background())
					if err != nil {
						return
					}
					messages <- message
				}
			}()
			if got := awaitGone(t, server); got != "sh exited with status 3" {
				t.Errorf("the cause is %s", got)
			}
			select {
			case <-messages:
			default:
				t.Error("Gone is closed and the result was not read")
			}
		})
	}
}

// The death of a supervisor takes the server along.
func TestSupervisorKilled(t *testing.T) {
	change, ok := lifelines()["lifeline"]
	if !ok {
		t.Skip("Lifeline does nothing here")
	}
	t.Parallel()
	session, server := open(t, change(stdioServer(t, switches{IgnoreEOF: true, Grandchild: "group"}, transport.CommandOptions{})))
	processes := mustCall[tree](t, session, "tree", nil)
	if err := syscall.Kill(parentOf(t, processes.PID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	want := executable(t) + " ended in a way that could not be learned"
	if got := awaitGone(t, server); got != want {
		t.Errorf("the cause is %s", got)
	}
	awaitEnd(t, processes.PID, processes.Grandchild)
}

// Gone does not wait for anything that only time ends.
func TestGoneIsQuick(t *testing.T) {
	t.Parallel()
	session, server := open(t, stdioServer(t, switches{Grandchild: "session-pipes"}, transport.CommandOptions{
		CloseTimeout: time.Hour, KillTimeout: time.Hour,
	}))
	processes := mustCall[tree](t, session, "tree", nil)
	t.Cleanup(func() { killNow(processes.Grandchild) })
	start := time.Now()
	if err := syscall.Kill(processes.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, server)
	t.Logf("Gone closed %v after the kill", time.Since(start))
}
