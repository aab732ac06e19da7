package main

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// say begins a step of the demo.
func say(format string, args ...any) { fmt.Printf("\n"+format+"\n", args...) }

// tell reports something that was seen in it.
func tell(format string, args ...any) { fmt.Printf("    "+format+"\n", args...) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// indented writes whole lines as tell does.
type indented struct{ io.Writer }

func (w indented) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		if _, err := fmt.Fprintf(w.Writer, "    %s", line); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}
