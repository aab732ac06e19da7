//go:build unix

package transport_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/transport"
)

// Whatever a server writes, the memory that it takes is bounded: 100 MB of stderr,
// in lines or in one, a line of 100 MB on stdout, and a message without an end,
// which is told as soon as it is over the limit. Not parallel, since it is about the
// memory of the whole process.
func TestFloodsTakeBoundedMemory(t *testing.T) {
	const message = 1 << 20
	const bound = 16 * message
	for name, test := range map[string]struct {
		script string // of sh, with what is written after
		cause  string // of its end; empty if it works
	}{
		"stderr in lines":          {script: `yes "$(printf '%0200d' 0)" | head -c 100000000 >&2; exec cat`},
		"stderr in one line":       {script: `yes 'no end' | tr -d '\n' | head -c 100000000 >&2; exec cat`},
		"text on stdout":           {script: `yes 'no end' | tr -d '\n' | head -c 100000000; echo; exec cat`},
		"a message without an end": {script: `printf '{"x":"'; yes 'no end' | tr -d '\n'`, cause: fmt.Sprintf("sent a message of more than %d bytes", message)},
	} {
		t.Run(name, func(t *testing.T) {
			server := watched(t, transport.CommandWithOptions(transport.CommandOptions{Logger: quiet, MaxMessage: message}, "sh", "-c", test.script))
			runtime.GC()
			before := liveHeap()
			connection, err := server.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			peak := make(chan uint64)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { peak <- peakHeap(ctx) }()
			if test.cause == "" {
				// "cat" sends back what it gets, once the flood is over.
				if err := connection.Write(t.Context(), request(t, 1, "ping")); err != nil {
					t.Error(err)
				}
				if _, err := connection.Read(t.Context()); err != nil {
					t.Error(err)
				}
			} else if got := awaitGone(t, server); !strings.Contains(got, test.cause) {
				t.Errorf("the cause is %s", got)
			}
			cancel()
			if most := <-peak; most > before+bound {
				t.Errorf("the heap grew from %d to %d bytes", before, most)
			}
		})
	}
}

// peakHeap returns the most that the heap has held until ctx is done.
func peakHeap(ctx context.Context) (most uint64) {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
			most = max(most, liveHeap())
		case <-ctx.Done():
			return most
		}
	}
}

// liveHeap returns how many bytes were in use at the end of the last collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
