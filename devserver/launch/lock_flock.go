//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package launch

import (
	"errors"
	"os"
	"syscall"
)

// tryLock returns nil and no error when another process has the lock. The system lets go of it when its process ends,
// however that ends.
func tryLock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { file.Close() }, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, err
}
