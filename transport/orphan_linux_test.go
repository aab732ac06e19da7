package transport_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// The parent-death signal comes when a thread ends, so the caller's must not be
// the one that starts the server.
func TestThreadEnds(t *testing.T) {
	t.Parallel()
	server := watched(t, stdioServer(t, switches{}, transport.CommandOptions{}))
	connection, err := onThread(func() (mcp.Connection, error) { return server.Connect(t.Context()) })
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.Write(t.Context(), request(t, 1, "server/discover")); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Read(t.Context()); err != nil {
		t.Errorf("the server does not answer: %v", err)
	}
}

// onThread runs f on a thread that is no more when it returns.
func onThread[T any](f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	results, thread := make(chan result, 1), make(chan int, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		thread <- syscall.Gettid()
		value, err := f()
		results <- result{value, err}
	}()
	r := <-results
	id := <-thread
	for {
		// The main thread is kept, and so are no others.
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", id)); err != nil || id == os.Getpid() {
			return r.value, r.err
		}
		runtime.Gosched()
	}
}

// The host is killed (C14 d). With Lifeline no process of the tree is left,
// whatever it ignores and wherever it has gone. Without, the server itself ends,
// by the parent-death signal.
func TestHostKilled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		switches switches
		leaves   bool // what the server started may stay
	}{
		{
			name:     "lifeline, polite server",
			switches: switches{Lifeline: true, Grandchild: "group"},
		},
		{
			name:     "lifeline, server that ignores everything",
			switches: switches{Lifeline: true, IgnoreEOF: true, IgnoreTERM: true, Grandchild: "pipes"},
		},
		{
			name:     "lifeline, grandchild in a session of its own",
			switches: switches{Lifeline: true, IgnoreEOF: true, IgnoreTERM: true, Grandchild: "session-pipes"},
		},
		{
			name:     "no lifeline, polite server",
			switches: switches{Grandchild: "group"},
			leaves:   true,
		},
		{
			name:     "no lifeline, server that ignores everything",
			switches: switches{IgnoreEOF: true, IgnoreTERM: true, Grandchild: "pipes"},
			leaves:   true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			host := exec.Command(executable(t))
			host.Env = append(host.Environ(), test.switches.environment(roleHost)...)
			stdout, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = host.Process.Kill()
				_ = host.Wait()
			})
			var server, grandchild int
			if _, err := fmt.Fscanln(bufio.NewReader(stdout), &server, &grandchild); err != nil {
				t.Fatalf("the host says nothing: %v", err)
			}
			supervised := parentOf(t, server) != host.Process.Pid
			if supervised != test.switches.Lifeline {
				t.Errorf("there is a supervisor: %v", supervised)
			}
			processes := []int{server, grandchild}
			if supervised {
				processes = append(processes, parentOf(t, server))
			}

			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = host.Wait()
			if test.leaves {
				processes = []int{server}
				t.Cleanup(func() { killNow(grandchild) })
			}
			awaitEnd(t, processes...)
		})
	}
}
