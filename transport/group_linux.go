package transport

import (
	"errors"
	"os/exec"
	"syscall"
)

func groupAttributes(bound bool) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if bound {
		attributes.Pdeathsig = syscall.SIGKILL
	}
	return attributes
}

// await waits for the process to exit, kills what is left of its group, and
// reaps it: in this order, because the group's id is safe from reuse only while
// its leader is not reaped.
func (g *group) await(cmd *exec.Cmd) {
	awaitExit(g.process.Pid)
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = syscall.Kill(-g.process.Pid, syscall.SIGKILL)
	_ = cmd.Wait() // its error repeats the state
	g.reaped = true
	g.status = statusOf(cmd.ProcessState)
}

// awaitExit waits until the process has exited and leaves it to be reaped.
func awaitExit(pid int) {
	const byPID = 1 // P_PID
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID,
			byPID, uintptr(pid), 0, syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if !errors.Is(errno, syscall.EINTR) {
			return
		}
	}
}
