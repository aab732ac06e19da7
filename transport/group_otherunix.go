//go:build unix && !linux

package transport

import (
	"os/exec"
	"syscall"
)

func groupAttributes(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// await waits for the process to exit, reaps it, and kills what is left of its
// group. Not all of these systems can tell of an exit without reaping, so for an
// instant the group's id could be another's: only if it has no process left and
// the system has gone through all other ids since.
func (g *group) await(cmd *exec.Cmd) {
	_ = cmd.Wait() // its error repeats the state
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = syscall.Kill(-g.process.Pid, syscall.SIGKILL)
	g.reaped = true
	g.status = statusOf(cmd.ProcessState)
}
