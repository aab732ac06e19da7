//go:build !unix

package launch

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
