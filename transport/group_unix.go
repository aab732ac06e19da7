//go:build unix

package transport

import "syscall"

// terminate asks the processes of the group to end.
func (g *group) terminate() { g.signal(syscall.SIGTERM) }

// kill ends the processes of the group.
func (g *group) kill() { g.signal(syscall.SIGKILL) }

func (g *group) signal(signal syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reaped {
		_ = syscall.Kill(-g.process.Pid, signal)
	}
}
