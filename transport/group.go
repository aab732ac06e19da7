package transport

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// A group is the process that this package has started for a server and, on
// Unix, whatever that has started in turn and left in its process group.
type group struct {
	process *os.Process // which leads the group

	// exited is closed once the process has exited and the rest of the group
	// was sent SIGKILL. Status is set by then.
	exited chan struct{}
	status exitStatus

	// mu keeps signals from a group whose leader was reaped: its id may be
	// somebody else's by then.
	mu     sync.Mutex
	reaped bool
}

// startGroup starts cmd, whose standard streams must be files. Where the system
// can do that, a bound process is killed when this process ends.
func startGroup(cmd *exec.Cmd, bound bool) (*group, error) {
	cmd.SysProcAttr = groupAttributes(bound)
	g := &group{exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// Linux sends the parent-death signal when the *thread* that started
		// the process ends, not when the parent process does. So the thread
		// is kept for as long as the process lives, waiting for it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		g.process = cmd.Process
		started <- nil
		g.await(cmd)
		close(g.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return g, nil
}

// An exitStatus is how a process has ended.
type exitStatus struct {
	known  bool
	code   int
	signal syscall.Signal // if not 0, what ended the process
}

func (s exitStatus) String() string {
	switch {
	case !s.known:
		return "ended in a way that could not be learned"
	case s.signal != 0:
		return fmt.Sprintf("was ended by signal %d (%v)", int(s.signal), s.signal)
	}
	return fmt.Sprintf("exited with status %d", s.code)
}

func statusOf(state *os.ProcessState) exitStatus {
	if state == nil {
		return exitStatus{}
	}
	status := exitStatus{known: true, code: state.ExitCode()}
	if wait, ok := state.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		status.signal = wait.Signal()
	}
	return status
}
