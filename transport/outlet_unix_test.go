//go:build unix

package transport

import (
	"io"
	"os"
	"strings"
	"testing"
)

// After the server's exit an outlet ends with what is in the pipe, though the
// pipe is held open, or even written to.
func TestOutletEnds(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeFiles(read, write)
	o := &outlet{file: read}

	got := make(chan string, 1)
	go func() {
		text, err := io.ReadAll(o)
		if err != nil {
			t.Error(err)
		}
		got <- string(text)
	}()
	want := strings.Repeat("last words ", 1000)
	if _, err := io.WriteString(write, want); err != nil {
		t.Fatal(err)
	}
	o.serverExited()
	if text := <-got; text != want {
		t.Errorf("%d bytes were read of %d", len(text), len(want))
	}
}

func TestOutletEndsUnderFlood(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		for {
			if _, err := write.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	}()
	o := &outlet{file: read}
	o.serverExited()
	// It may end sooner, when the reader is ahead of the writer.
	if n, err := io.Copy(io.Discard, o); err != nil || n > restLimit+32<<10 {
		t.Errorf("%d bytes were read: %v", n, err)
	}
	o.close()
	<-flooded
	_ = write.Close()
}
