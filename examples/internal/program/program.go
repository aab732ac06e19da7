// Package program lets the tests of the examples run the examples' programs.
package program

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// Build builds programs into a directory, from the packages named. It must be
// called once for all that a test binary runs: tests at once share what it made.
func Build(directory string, packages ...string) ([]byte, error) {
	arguments := append([]string{"build", "-o", directory + string(filepath.Separator)}, packages...)
	return exec.Command("go", arguments...).CombinedOutput()
}

// A Program is a process of a test.
type Program struct {
	*exec.Cmd
	t      testing.TB
	ctx    context.Context
	output output
}

// Start starts a program with variables added to this process's environment. It is
// told to end at the test's end, and must do so without an error, unless the test
// has waited for it.
func Start(ctx context.Context, t testing.TB, path string, environ []string, arguments ...string) *Program {
	t.Helper()
	p := &Program{Cmd: exec.CommandContext(ctx, path, arguments...), t: t, ctx: ctx}
	p.Env = append(os.Environ(), environ...)
	p.Stdout, p.Stderr = &p.output, &p.output
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Stop()
		}
		if t.Failed() {
			t.Logf("%s wrote:\n%s", filepath.Base(path), p.Output())
		}
	})
	return p
}

// Stop tells the program to end and waits until it has.
func (p *Program) Stop() {
	p.t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil { // Windows can't
		_ = p.Process.Kill()
	}
	if err := p.Wait(); err != nil {
		p.t.Errorf("%s: %v", filepath.Base(p.Path), err)
	}
}

// Output returns what the program has written so far.
func (p *Program) Output() string { return p.output.String() }

// AwaitOutput returns the first group of a pattern, once the program has written
// what matches.
func (p *Program) AwaitOutput(pattern *regexp.Regexp) string {
	p.t.Helper()
	for {
		if found := pattern.FindStringSubmatch(p.Output()); found != nil {
			return found[1]
		}
		select {
		case <-p.ctx.Done():
			p.t.Fatalf("%s does not say %s", filepath.Base(p.Path), pattern)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// An output keeps what is written to it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
