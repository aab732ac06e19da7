package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var (
	errStdoutClosed = errors.New("closed its stdout")
	errStdinClosed  = errors.New("closed its stdin")
)

// forwardMessages hands the server's messages on to sink, one line each, until
// its stdout ends. Lines that are no messages it skips: many servers greet, or
// print a log, where only messages may be. A message over the limit is the end,
// since the call that it may answer can't be told. It goes on reading after the
// connection was closed, so that a server that has something left to write on
// its way out isn't held up.
func (c *child) forwardMessages(sink *io.PipeWriter) {
	defer close(c.stdoutDrained)
	defer c.stdout.close()
	lines := newLineReader(c.stdout, c.options.MaxMessage)
	for {
		line, cut, err := lines.next()
		switch {
		case err != nil:
			c.life.lose(errStdoutClosed)
			_ = sink.Close()
			return
		case cut && looksLikeMessage(line):
			fault := fmt.Errorf("sent a message of more than %d bytes; let it send less, or raise CommandOptions.MaxMessage",
				c.options.MaxMessage)
			c.life.lose(fault)
			_ = sink.CloseWithError(fmt.Errorf("transport: %s %w", c.name, fault))
		default:
			messages := messagesOf(line, cut)
			for _, message := range messages {
				// The error says that nobody reads any more.
				_, _ = sink.Write(append(message, '\n'))
			}
			if len(messages) == 0 && len(bytes.TrimSpace(line)) > 0 {
				c.skipped(line, cut)
			}
		}
	}
}

// looksLikeMessage tells by its beginning whether a line that is too long to be
// read may be a message.
func looksLikeMessage(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 0 && (line[0] == '{' || line[0] == '[')
}

// messagesOf returns the messages of a line: one, those of a batch, which older
// servers may send, or none. The SDK gets those of a batch one by one: a batch of
// two notices would be the end of the connection to it.
func messagesOf(line []byte, cut bool) []json.RawMessage {
	switch {
	case cut || !looksLikeMessage(line):
		return nil
	case isMessage(line):
		return []json.RawMessage{line}
	}
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil {
		return nil
	}
	for _, message := range batch {
		if !isMessage(message) {
			return nil
		}
	}
	return batch
}

// isMessage tells whether the SDK will take the line: JSON-RPC, and nothing after
// it. To the SDK anything else is the end of the connection, also a line of a JSON
// log.
func isMessage(line []byte) bool {
	if !looksLikeMessage(line) || !json.Valid(line) {
		return false
	}
	_, err := jsonrpc.DecodeMessage(line)
	return err == nil
}

const (
	// skippedLogged is how many lines that are no messages are logged one by
	// one. After them it is each time that their number has doubled.
	skippedLogged = 16

	// skippedLength is how many bytes of such a line are kept.
	skippedLength = 256
)

func (c *child) skipped(line []byte, cut bool) {
	text := c.redactor.line(line, skippedLength, cut)
	count := c.noise.add(text)
	if count > skippedLogged && bits.OnesCount(uint(count)) > 1 {
		return
	}
	c.log(slog.LevelWarn, "MCP server wrote a line to stdout that is no message; it was skipped", text,
		slog.Int("skipped", count))
}

// A noise keeps count of lines on stdout that are no messages, and the last one.
type noise struct {
	mu    sync.Mutex
	count int
	last  string
}

func (n *noise) add(line string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	n.last = line
	return n.count
}

func (n *noise) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}
