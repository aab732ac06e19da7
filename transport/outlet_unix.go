//go:build unix

package transport

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// readPresent reads without waiting. An empty pipe is at its end. It goes past
// the file's own Read because that one waits, or heeds a deadline before it
// looks.
func readPresent(file *os.File, p []byte) (n int, err error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, io.EOF
	}
	// Pipes of package os do not block.
	controlErr := raw.Control(func(fd uintptr) {
		for {
			n, err = syscall.Read(int(fd), p)
			if !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	})
	if controlErr != nil || err != nil || n <= 0 {
		return 0, io.EOF
	}
	return n, nil
}
