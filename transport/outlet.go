package transport

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// restLimit bounds what is read of a pipe after the server's exit. It is the
// most that Linux lets a pipe hold, so only a process that writes on while it is
// being read can reach it.
const restLimit = 1 << 20

// An outlet is the reading end of a pipe into which a server writes: its stdout
// or stderr.
//
// The end of a server is not the end of its pipes: a process that it started
// may hold them open for as long as it likes. So once the server has exited, an
// outlet ends after what is in the pipe at that time, which is all that the
// server wrote.
type outlet struct {
	file   *os.File
	exited atomic.Bool
	rest   int // bytes read since the exit
}

// Read implements [io.Reader]. One goroutine at a time may read.
func (o *outlet) Read(p []byte) (int, error) {
	if !o.exited.Load() {
		n, err := o.file.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	if o.rest >= restLimit {
		return 0, io.EOF
	}
	n, err := readPresent(o.file, p)
	o.rest += n
	return n, err
}

// serverExited makes Read end with what is in the pipe now.
func (o *outlet) serverExited() {
	o.exited.Store(true)
	// Wakes a Read that waits for more. Where pipes have no deadlines the file
	// must go.
	if err := o.file.SetReadDeadline(time.Unix(1, 0)); err != nil {
		o.close()
	}
}

func (o *outlet) close() { _ = o.file.Close() }
