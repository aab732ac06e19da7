package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// testTimeout bounds every test: a hang is a failure.
const testTimeout = 2 * time.Minute

// A bundle is what one test has to itself: a task queue and a directory.
type bundle struct {
	*testing.T
	ctx       context.Context
	taskQueue string
	directory string
}

func setup(t *testing.T) *bundle { return setupFor(t, testTimeout) }

func setupFor(t *testing.T, timeout time.Duration) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	t.Cleanup(cancel)
	return &bundle{
		T: t, ctx: ctx, directory: t.TempDir(),
		taskQueue: fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano()),
	}
}

// config writes a configuration file.
func (b *bundle) config(text string) string {
	b.Helper()
	path := filepath.Join(b.directory, "mcp.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// fixture is a configuration with the test's own server, and more.
func (b *bundle) fixture(more string) string {
	b.Helper()
	entry, err := json.Marshal(map[string]any{
		"command": os.Args[0],
		"args":    []string{b.taskQueue},
		"env":     map[string]string{roleVariable: "server", holdVariable: b.holdFile()},
	})
	if err != nil {
		b.Fatal(err)
	}
	return b.config(`{"mcpServers": {"fixture": ` + string(entry) + more + `}}`)
}

func (b *bundle) holdFile() string { return filepath.Join(b.directory, "hold") }

// A process is the program, running.
type process struct {
	*exec.Cmd
	b        *bundle
	out, err output
	ended    chan struct{}
}

// start starts the program with the test's task queue.
func (b *bundle) start(environ []string, args ...string) *process {
	b.Helper()
	return b.startAs(append(devserver.Environ(), environ...), append(args, "--task-queue", b.taskQueue)...)
}

func (b *bundle) startAs(environ []string, args ...string) *process {
	b.Helper()
	return b.startFrom(nil, environ, args...)
}

func (b *bundle) startFrom(stdin io.Reader, environ []string, args ...string) *process {
	b.Helper()
	p := &process{Cmd: exec.CommandContext(b.ctx, program, args...), b: b, ended: make(chan struct{})}
	p.Env, p.Dir = append(os.Environ(), environ...), b.directory // some servers write where they are
	p.Stdin = stdin
	p.Stdout, p.Stderr = &p.out, &p.err
	if err := p.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		_ = p.Wait()
		close(p.ended)
	}()
	b.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		if b.Failed() {
			b.Logf("%v wrote:\n%s%s", p.Args[1:], p.out.String(), p.err.String())
		}
	})
	return p
}

// worker starts a worker, and returns when it serves.
func (b *bundle) worker(config string, args ...string) *process {
	b.Helper()
	p := b.start(nil, append([]string{"worker", "--config", config}, args...)...)
	p.says("serving ")
	return p
}

// says waits until a process that goes on has said something.
func (p *process) says(text string) {
	p.b.Helper()
	p.b.eventually("it says "+text, func() bool {
		said := strings.Contains(p.out.String()+p.err.String(), text)
		select {
		case <-p.ended:
			if !said {
				p.b.Fatalf("%v has ended without a word of %q", p.Args[1:], text)
			}
		default:
		}
		return said
	})
}

// A ran is what a run of the program came to.
type ran struct {
	code     int
	out, err string
}

// run runs a command to its end.
func (b *bundle) run(args ...string) ran {
	b.Helper()
	return b.start(nil, args...).wait()
}

// wait returns what the process came to.
func (p *process) wait() ran {
	p.b.Helper()
	select {
	case <-p.ended:
	case <-p.b.ctx.Done():
		p.b.Fatalf("%v does not end", p.Args[1:])
	}
	return ran{code: p.ProcessState.ExitCode(), out: p.out.String(), err: p.err.String()}
}

func (p *process) signal(s os.Signal) {
	p.b.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.b.Fatal(err)
	}
}

// want checks the exit code, and that stdout or stderr mentions texts.
func (r ran) want(t *testing.T, code int, texts ...string) ran {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("nothing mentions %q\nstdout: %s\nstderr: %s", text, r.out, r.err)
		}
	}
	return r
}

// eventually waits for a condition.
func (b *bundle) eventually(what string, condition func() bool) {
	b.Helper()
	for !condition() {
		select {
		case <-b.ctx.Done():
			b.Fatalf("never: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// servers returns the processes of the test's MCP servers, by what is among their
// arguments.
func (b *bundle) servers() []int {
	b.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		b.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		line, err := os.ReadFile(file)
		var pid int
		if _, scanErr := fmt.Sscanf(file, "/proc/%d/", &pid); err != nil || scanErr != nil {
			continue
		}
		// Also the supervisor and the worker have the queue among their arguments.
		if args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00"); len(args) == 2 && args[1] == b.taskQueue {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (b *bundle) wantNoServers() {
	b.Helper()
	b.eventually("no server is left", func() bool { return len(b.servers()) == 0 })
}

// An output is written by a process and read by a test.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

func pidOf(p *process) string { return strconv.Itoa(p.Process.Pid) }

// startWith starts the program with something on its stdin.
func (b *bundle) startWith(stdin io.Reader, args ...string) *process {
	b.Helper()
	return b.startFrom(stdin, devserver.Environ(), append(args, "--task-queue", b.taskQueue)...)
}
