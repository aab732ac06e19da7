package tests

import (
	"net"
	"os"
	"syscall"
	"testing"

	"go.temporal.io/sdk/client"
)

// Whatever asks the server to stop, it exits with status 0, has printed nothing but its ready line, and its port is free
// again. A worker is connected, whose long polls a stop must not wait for.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags []string
		stop  func(*process) error
	}{
		"SIGTERM": {
			stop: func(p *process) error { return p.command.Process.Signal(syscall.SIGTERM) },
		},
		"interrupt": {
			stop: func(p *process) error { return p.command.Process.Signal(os.Interrupt) },
		},
		"standard input ends": {
			flags: []string{"-exit-with-stdin"},
			stop:  func(p *process) error { return p.stdin.Close() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, test.flags...)
			runWorker(t, server.dial(t, client.DefaultNamespace))
			if err := test.stop(server); err != nil {
				t.Fatal(err)
			}
			if err := server.awaitExit(t); err != nil {
				t.Errorf("exit: %v, want status 0", err)
			}
			if len(server.stdout) != 1 {
				t.Errorf("standard output: %q, want the ready line only", server.stdout)
			}
			if log := server.stderr.String(); log != "" {
				t.Errorf("standard error: %s\nwant nothing", log)
			}
			listener, err := net.Listen("tcp", server.address)
			if err != nil {
				t.Fatalf("the port isn't free: %v", err)
			}
			listener.Close()
		})
	}
}

// Without the flag the end of standard input means nothing.
func TestStandardInputIsIgnoredWithoutTheFlag(t *testing.T) {
	t.Parallel()
	server := start(t)
	if err := server.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	c := server.dial(t, client.DefaultNamespace)
	runWorker(t, c)
	if err := runSteps(t, c, 3); err != nil {
		t.Error(err)
	}
}
