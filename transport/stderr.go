package transport

import (
	"context"
	"log/slog"
	"strings"
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
	text string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += line + "\n"
	excess := len(t.text) - 1 - t.limit // without the last line's end
	if excess <= 0 {
		return
	}
	// Begin with a whole line, or else with a whole character.
	if end := strings.IndexByte(t.text[excess-1:len(t.text)-1], '\n'); end >= 0 {
		t.text = t.text[excess+end:]
		return
	}
	for excess < len(t.text) && !utf8.RuneStart(t.text[excess]) {
		excess++
	}
	t.text = t.text[excess:]
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSuffix(t.text, "\n")
}
