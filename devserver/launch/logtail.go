package launch

import (
	"bytes"
	"io"
	"sync"
)

// tailSize is how much of a devserver's log is kept for the error that tells of its end.
const tailSize = 4 << 10

// logTail passes a log on and keeps its end.
type logTail struct {
	next io.Writer

	mu   sync.Mutex
	tail []byte
}

// Write keeps and passes on. It never fails, as the server's end must not depend on who reads its log.
func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	l.tail = append(l.tail, p...)
	if excess := len(l.tail) - tailSize; excess > 0 {
		l.tail = append(l.tail[:0], l.tail[excess:]...)
	}
	l.mu.Unlock()
	_, _ = l.next.Write(p)
	return len(p), nil
}

func (l *logTail) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.TrimSpace(l.tail))
}
