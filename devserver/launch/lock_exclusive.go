//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package launch

import (
	"errors"
	"io/fs"
	"os"
)

// tryLock returns nil and no error when another process has the lock: where there is no flock, the file is the lock. One
// that was killed leaves it behind, and the message of who waits in vain names the file.
func tryLock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	file.Close()
	return func() { os.Remove(path) }, nil
}
