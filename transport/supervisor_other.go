//go:build !linux

package transport

const (
	canSupervise      = false
	supervisorProgram = ""
)

func supervise() {}

func killGroup(int) {}
