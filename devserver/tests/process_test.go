package tests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
)

// limit bounds every wait. What is waited for takes a second or two; a busy machine may take longer.
const limit = time.Minute

// program is the built devserver.
var program string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	directory, err := os.MkdirTemp("", "devserver-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)
	program = filepath.Join(directory, "devserver.exe")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "..")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot build the devserver:", err)
		return 1
	}
	return m.Run()
}

// process is one running devserver.
type process struct {
	address    string
	ui         string
	namespaces string

	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  lockedBuffer
	// exited is closed when the process is gone; then these two are set.
	exited chan struct{}
	stdout []string
	err    error
}

// start runs the devserver on free ports and returns when it has printed its ready line.
func start(t *testing.T, flags ...string) *process {
	t.Helper()
	flags = append([]string{"-address", "127.0.0.1:0", "-ui", "none"}, flags...) // The last of two equal flags counts.
	p := &process{command: exec.Command(program, flags...), exited: make(chan struct{})}
	p.command.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1)
	go p.watch(stdout, lines)
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		p.awaitExit(t)
		if t.Failed() {
			t.Logf("standard error of the devserver:\n%s", p.stderr.String())
		}
	})

	select {
	case line := <-lines:
		p.readReadyLine(t, line)
	case <-p.exited:
		t.Fatalf("the devserver ended before it was ready: %v", p.err)
	case <-time.After(limit):
		t.Fatalf("the devserver isn't ready after %v", limit)
	}
	return p
}

func (p *process) watch(stdout io.Reader, first chan<- string) {
	defer close(p.exited)
	scanner := bufio.NewScanner(stdout)
	for scanner.Scan() {
		if p.stdout = append(p.stdout, scanner.Text()); len(p.stdout) == 1 {
			first <- scanner.Text()
		}
	}
	p.err = p.command.Wait()
}

func (p *process) readReadyLine(t *testing.T, line string) {
	t.Helper()
	fields := strings.Fields(line)
	if len(fields) != 5 || fields[0] != "devserver" || fields[1] != "ready" {
		t.Fatalf("ready line %q, want devserver ready and three values", line)
	}
	for i, want := range []struct {
		name  string
		value *string
	}{{"address", &p.address}, {"ui", &p.ui}, {"namespaces", &p.namespaces}} {
		name, value, _ := strings.Cut(fields[2+i], "=")
		if name != want.name || value == "" {
			t.Fatalf("ready line %q: %q, want %s=...", line, fields[2+i], want.name)
		}
		*want.value = value
	}
}

// awaitExit returns the error of the process's end, nil for exit status 0.
func (p *process) awaitExit(t *testing.T) error {
	t.Helper()
	select {
	case <-p.exited:
		return p.err
	case <-time.After(limit):
		t.Fatalf("the devserver still runs after %v", limit)
		return nil
	}
}

func (p *process) dial(t *testing.T, namespace string) client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c, err := client.DialContext(ctx, client.Options{HostPort: p.address, Namespace: namespace, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
