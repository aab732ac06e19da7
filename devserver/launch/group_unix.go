//go:build unix

package launch

import "syscall"

// ownGroup puts the server into a process group of its own: an interrupt from the terminal goes to the program that uses
// the server, which may need it to end in order.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
