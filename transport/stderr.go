package transport

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"unicode/utf8"
)

// stderrLineLength is how many bytes of a line on stderr are kept.
const stderrLineLength = 4 << 10

// drainStderr logs what the server writes to stderr and keeps the end of it. It
// never stops to read before stderr ends: a full pipe would stop the server.
func (c *child) drainStderr() {
	defer close(c.stderrDrained)
	defer c.stderr.close()
	lines := newLineReader(c.stderr, stderrLineLength+c.redactor.longest)
	for {
		line, cut, err := lines.next()
		if err != nil {
			return
		}
		text := c.redactor.line(line, stderrLineLength, cut)
		c.tail.add(text)
		c.log(slog.LevelInfo, "MCP server wrote to stderr", text)
	}
}

func (c *child) log(level slog.Level, message, line string, more ...slog.Attr) {
	attributes := append([]slog.Attr{slog.String("command", c.name), slog.String("line", line)}, more...)
	if pid := c.pid(); pid != 0 { // else the supervisor has not told it yet
		attributes = append(attributes, slog.Int("pid", pid))
	}
	c.options.Logger.LogAttrs(context.Background(), level, message, attributes...)
}

// A tail keeps the last lines that fit into limit bytes.
type tail struct {
	limit int

	mu   sync.Mutex
	text []byte // a little more than that, so that it is not moved for each line
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(append(t.text, line...), '\n')
	if keep := t.limit + 2; len(t.text) > 4*keep {
		t.text = append(t.text[:0], t.text[len(t.text)-keep:]...)
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSuffix(t.text, []byte{'\n'})
	excess := len(text) - t.limit
	if excess <= 0 {
		return string(text)
	}
	// Begin with a whole line, or else with a whole character.
	if end := bytes.IndexByte(text[excess-1:], '\n'); end >= 0 {
		return string(text[excess+end:])
	}
	for excess < len(text) && !utf8.RuneStart(text[excess]) {
		excess++
	}
	return string(text[excess:])
}
