package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// StopTimeout is how long [Server.Stop] waits for the server's process to end by itself before it kills it. It is a little
// more than the devserver gives itself.
const StopTimeout = 20 * time.Second

// process is a running devserver.
type process struct {
	command  *exec.Cmd
	stdin    io.Closer // Its end is what stops the server.
	log      *logTail
	stop     func() error  // Is end, once.
	patience time.Duration // StopTimeout, but for tests.

	exited chan struct{} // Closed when the process is gone and reaped.
	err    error         // How it ended; set before exited is closed.
}

// startProcess starts the program on a free port and returns its address once it is ready.
func startProcess(ctx context.Context, program string, options Options) (*process, string, error) {
	args := []string{"-exit-with-stdin", "-address", "127.0.0.1:0", "-ui", "none", "-namespace", options.Namespace}
	p := &process{
		command:  exec.Command(program, append(args, options.Args...)...),
		log:      &logTail{next: options.LogOutput},
		exited:   make(chan struct{}),
		patience: StopTimeout,
	}
	p.stop = sync.OnceValue(p.end)
	p.command.Stderr = p.log
	p.command.SysProcAttr = ownGroup()
	var err error
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, "", fmt.Errorf("cannot start the devserver: %w", err)
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, "", fmt.Errorf("cannot start the devserver: %w", err)
	}
	if err := p.command.Start(); err != nil {
		return nil, "", fmt.Errorf("cannot start the devserver: %w", err)
	}

	address := make(chan string, 1)
	go p.watch(stdout, address)
	select {
	case address := <-address:
		return p, address, nil
	case <-p.exited:
		return nil, "", fmt.Errorf("the devserver ended before it was ready: %w", p.ending())
	case <-ctx.Done():
		_ = p.command.Process.Kill() // It serves nobody yet.
		<-p.exited
		return nil, "", fmt.Errorf("the devserver was not ready in time: %w", context.Cause(ctx))
	}
}

// watch reads the process's standard output to the end, sends the address of the ready line, and reaps the process.
func (p *process) watch(stdout io.Reader, address chan<- string) {
	defer close(p.exited)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if found, ok := readyAddress(lines.Text()); ok {
			address <- found
			break
		}
	}
	_, _ = io.Copy(io.Discard, stdout) // A full pipe would stop the server.
	p.err = p.command.Wait()
}

// readyAddress takes the address out of a line such as "devserver ready address=127.0.0.1:7233 ui=none".
func readyAddress(line string) (string, bool) {
	values, ready := strings.CutPrefix(line, "devserver ready ")
	if !ready {
		return "", false
	}
	for field := range strings.FieldsSeq(values) {
		if address, found := strings.CutPrefix(field, "address="); found {
			return address, true
		}
	}
	return "", false
}

// end stops the process and returns when it is gone.
func (p *process) end() error {
	select {
	case <-p.exited:
		return fmt.Errorf("the devserver had ended before it was stopped: %w", p.ending())
	default:
	}
	_ = p.stdin.Close()
	timeout := time.NewTimer(p.patience)
	defer timeout.Stop()
	select {
	case <-p.exited:
	case <-timeout.C:
		_ = p.command.Process.Kill()
		<-p.exited
		return fmt.Errorf("the devserver did not stop within %v and was killed", p.patience)
	}
	if p.err != nil {
		return fmt.Errorf("the devserver did not stop cleanly: %w", p.ending())
	}
	return nil
}

// ending tells how the process ended and what it said last.
func (p *process) ending() error {
	err := p.err
	if err == nil {
		err = errors.New("exit status 0")
	}
	if said := p.log.end(); said != "" {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return err
}
