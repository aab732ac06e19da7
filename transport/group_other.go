//go:build !unix

package transport

import (
	"os/exec"
	"syscall"
)

func groupAttributes(bool) *syscall.SysProcAttr { return nil }

// await waits for the process to exit. There are no process groups here: what
// the process has started is left alone.
func (g *group) await(cmd *exec.Cmd) {
	_ = cmd.Wait() // its error repeats the state
	g.status = statusOf(cmd.ProcessState)
}

// terminate is kill: there is no request to end that every process understands.
func (g *group) terminate() { g.kill() }

func (g *group) kill() { _ = g.process.Kill() }
