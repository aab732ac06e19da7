package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// keptBuffer is how large a line reader's buffer may stay after a long line.
const keptBuffer = 1 << 20

// A lineReader reads lines of which it keeps a bounded part.
type lineReader struct {
	in     *bufio.Reader
	limit  int // how many bytes of a line are kept
	buffer []byte
	within bool // the rest of a line that was cut is to come
}

func newLineReader(in io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReader(in), limit: limit}
}

// next returns the next line without its end, valid until the following call.
// Cut tells that the line is longer than what is returned of it, which is returned
// as soon as that is known: such a line may have no end. A last line that lacks its
// end is a line too.
func (r *lineReader) next() (line []byte, cut bool, err error) {
	if cap(r.buffer) > keptBuffer {
		r.buffer = nil
	}
	r.buffer = r.buffer[:0]
	started := false
	for {
		chunk, err := r.in.ReadSlice('\n')
		ended := !errors.Is(err, bufio.ErrBufferFull) // the line, or what there is to read
		if r.within {
			if err != nil && ended {
				return nil, false, err
			}
			r.within = !ended
			continue
		}
		started = started || len(chunk) > 0
		if err != nil && ended && !started {
			return nil, false, err
		}
		text := bytes.TrimSuffix(chunk, []byte{'\n'})
		if room := r.limit - len(r.buffer); len(text) > room {
			r.buffer = append(r.buffer, text[:room]...)
			r.within = !ended
			return bytes.TrimSuffix(r.buffer, []byte{'\r'}), true, nil
		}
		r.buffer = append(r.buffer, text...)
		if ended {
			return bytes.TrimSuffix(r.buffer, []byte{'\r'}), false, nil
		}
	}
}
