package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// patience is how long a process that was asked to stop may take.
const patience = 15 * time.Second

// workerPackage is what the processes run.
const workerPackage = "github.com/mcpsession/mcpsession/examples/quickstart/worker"

// processes are the worker processes of the demo.
type processes struct {
	ctx       context.Context // done when one ends that was not told to
	cancel    context.CancelCauseFunc
	environ   []string
	directory string // has the program, and what each process logs
	all       []*process
}

type process struct {
	name  string
	cmd   *exec.Cmd
	log   *os.File
	told  chan struct{} // closed when it is told to end
	ended chan struct{} // closed when it has
}

// newProcesses builds the program. The caller must stop what it returns.
func newProcesses(ctx context.Context, environ []string) (*processes, error) {
	directory, err := os.MkdirTemp("", "mcpsession-demo-")
	if err != nil {
		return nil, err
	}
	ps := &processes{environ: append(os.Environ(), environ...), directory: directory}
	ps.ctx, ps.cancel = context.WithCancelCause(ctx)

	build := exec.CommandContext(ctx, "go", "build", "-o", ps.program(), workerPackage)
	build.Cancel = func() error { return build.Process.Signal(os.Interrupt) } // it stops its compilers, too
	build.WaitDelay = patience
	if output, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("go build %s: %w\n%s", workerPackage, err, output), ps.stop())
	}
	return ps, nil
}

func (ps *processes) program() string {
	return filepath.Join(ps.directory, "worker.exe") // only Windows minds how it ends
}

// start starts the program.
func (ps *processes) start(name string, args ...string) (*process, error) {
	log, err := os.Create(filepath.Join(ps.directory, name+".log"))
	if err != nil {
		return nil, err
	}
	p := &process{
		name:  name,
		cmd:   exec.Command(ps.program(), args...),
		log:   log,
		told:  make(chan struct{}),
		ended: make(chan struct{}),
	}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = ps.environ, log, log
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	ps.all = append(ps.all, p)
	go func() {
		err := p.cmd.Wait()
		close(p.ended)
		select {
		case <-p.told:
		default:
			ps.cancel(fmt.Errorf("%s (pid %d) ended by itself: %v", name, p.pid(), err))
		}
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// is reports whether the process is the worker with this identity.
func (p *process) is(identity string) bool {
	return strings.HasPrefix(identity, fmt.Sprintf("%d@", p.pid()))
}

// kill ends the process at once, which it can do nothing about.
func (p *process) kill() error {
	close(p.told)
	err := p.cmd.Process.Kill()
	<-p.ended
	return err
}

// stop ends all processes that are left, and removes the directory.
func (ps *processes) stop() error {
	var errs []error
	for _, p := range ps.all {
		errs = append(errs, p.stop(), p.log.Close())
	}
	ps.cancel(nil)
	return errors.Join(append(errs, os.RemoveAll(ps.directory))...)
}

// stop tells the process to end, and returns when it has.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return nil
	default:
		close(p.told)
	}
	if p.cmd.Process.Signal(os.Interrupt) != nil { // Windows can't
		_ = p.cmd.Process.Kill()
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s (pid %d) did not stop in %v and was killed", p.name, p.pid(), patience)
	}
}

// lastWords returns the end of what each process logged.
func (ps *processes) lastWords() string {
	const shown = 5
	var b strings.Builder
	for _, p := range ps.all {
		logged, _ := os.ReadFile(p.log.Name())
		lines := strings.Split(strings.TrimSpace(string(logged)), "\n")
		lines = lines[max(0, len(lines)-shown):]
		fmt.Fprintf(&b, "%s (pid %d) logged at last:\n  %s\n", p.name, p.pid(), strings.Join(lines, "\n  "))
	}
	return b.String()
}
