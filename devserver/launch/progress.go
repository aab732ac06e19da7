package launch

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	// progressInterval is how often a build says that it goes on.
	progressInterval = 30 * time.Second
	// shownLines is how many lines of a failed build its error shows.
	shownLines = 20
)

// buildOutput takes what "go build -v" prints: the name of each package as it is compiled, and messages. It counts the
// former for the progress and keeps the latter for the error.
type buildOutput struct {
	progress io.Writer
	done     chan struct{}
	stopped  chan struct{}

	mu       sync.Mutex
	partial  []byte // A line that hasn't ended yet.
	packages int
	messages []string
}

func newBuildOutput(progress io.Writer) *buildOutput {
	o := &buildOutput{progress: progress, done: make(chan struct{}), stopped: make(chan struct{})}
	go o.report()
	return o
}

// Write takes output of the go command.
func (o *buildOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.partial = append(o.partial, p...)
	for {
		line, rest, found := bytes.Cut(o.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		o.take(string(line))
		o.partial = rest
	}
}

func (o *buildOutput) take(line string) {
	if !strings.Contains(line, " ") {
		o.packages++
		return
	}
	if o.messages = append(o.messages, line); len(o.messages) > shownLines {
		o.messages = o.messages[1:]
	}
}

// report says every now and then how far the build is.
func (o *buildOutput) report() {
	defer close(o.stopped)
	begin := time.Now()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			o.mu.Lock()
			packages := o.packages
			o.mu.Unlock()
			fmt.Fprintf(o.progress, "devserver: %d packages compiled after %v, of about 1750 the first time\n",
				packages, time.Since(begin).Round(time.Second))
		case <-o.done:
			return
		}
	}
}

// stop ends the reports. Nothing is written to the progress after it.
func (o *buildOutput) stop() {
	close(o.done)
	<-o.stopped
}

// end returns the last messages of the go command.
func (o *buildOutput) end() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.messages, "\n")
}
