package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An event is one server-sent event, as far as MCP uses it.
type event struct {
	name  string
	id    string
	retry time.Duration // how long to wait before the stream is opened again
	data  []byte
}

// isMessage reports whether the event carries a JSON-RPC message that the MCP SDK
// will take; to it, anything else is the end of the connection.
func (e event) isMessage() bool {
	_, err := jsonrpc.DecodeMessage(e.data)
	return err == nil && e.isPlain()
}

// isPlain reports whether the event is of the kind that carries messages.
func (e event) isPlain() bool { return e.name == "" || e.name == "message" }

// appendTo appends the event as the SDK gets it: without its id, since it is here
// that a stream is taken up again.
func (e event) appendTo(buffer []byte) []byte {
	for line := range bytes.SplitSeq(e.data, []byte{'\n'}) {
		buffer = append(append(append(buffer, "data: "...), line...), '\n')
	}
	return append(buffer, '\n')
}

var errEventTooLarge = fmt.Errorf("the server sent an event of more than %d bytes; let it send less", DefaultMaxMessage)

// An eventReader reads the events of a stream.
type eventReader struct{ lines *lineReader }

func newEventReader(stream io.Reader) *eventReader {
	return &eventReader{newLineReader(stream, DefaultMaxMessage)}
}

// next returns the next event. One that the end of the stream broke off is none.
func (r *eventReader) next() (e event, err error) {
	started := false
	for {
		line, cut, err := r.lines.next()
		switch {
		case errors.Is(err, io.EOF) && started:
			return e, nil // the last one, which lacks its empty line
		case err != nil:
			return event{}, err
		case cut || len(e.data)+len(line) > DefaultMaxMessage:
			return event{}, errEventTooLarge
		case len(line) == 0 && started:
			return e, nil
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			e.name = string(value)
		case "id":
			e.id = string(value)
		case "retry":
			if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(n) * time.Millisecond
			}
		case "data":
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		default:
			continue // a comment that keeps the connection alive, or unknown
		}
		started = true
	}
}
