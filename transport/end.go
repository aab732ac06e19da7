package transport

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	// faultTimeout is how long a server may take to exit by itself after its
	// connection has broken. Mostly the connection broke because it exits.
	faultTimeout = time.Second

	// reapTimeout is how long the system may take to end a process after
	// SIGKILL, and a supervisor to end all that it holds.
	reapTimeout = 2 * time.Second
)

// run sees the server through to its end, from whichever side it begins.
func (c *child) run() {
	defer close(c.gone)

	select {
	case <-c.ending:
	case <-c.group.exited:
		c.lose(nil)
	}
	killed := c.endProcess()

	// Last words: a result, a complaint. Once the SDK has read what there was,
	// or has closed, messages have nowhere to go and stdout is read to its end.
	c.stdout.serverExited()
	c.stderr.serverExited()
	c.connection.awaitReader()
	_ = c.connection.Connection.Close()
	awaitAll(c.stdoutDrained, c.stderrDrained)

	status := c.exitStatus()
	if c.asked && status != (exitStatus{known: true}) {
		// No error of Close: the server is gone, as it was to be.
		c.log(slog.LevelWarn, "MCP server did not exit with status 0 when it was closed", status.String())
	}
	c.cause, c.closeErr = c.verdict(killed, status)
	c.lifeline.close()
}

// endProcess returns when the process has exited or can't be ended. Killed tells
// that it did not exit by itself when it should have.
func (c *child) endProcess() (killed bool) {
	if c.asked {
		// Calls in flight end here. This closes stdin, which is how a server
		// is told to exit.
		_ = c.connection.Connection.Close()
		if c.exitedWithin(c.options.CloseTimeout) {
			return false
		}
		c.group.terminate()
		if c.exitedWithin(c.options.KillTimeout) {
			return false
		}
	} else {
		_ = c.stdin.Close()
		if c.exitedWithin(faultTimeout) {
			return false
		}
	}
	c.kill()
	return true
}

// kill ends the process and its group by force, and waits for that. With a
// lifeline it is the supervisor that ends everything, because it alone knows of
// those that have left the group; itself it is killed only if it fails to.
func (c *child) kill() {
	if c.lifeline != nil {
		c.lifeline.cut()
		if c.exitedWithin(reapTimeout) {
			return
		}
		c.lifeline.killServer()
	}
	c.group.kill()
	c.exitedWithin(reapTimeout)
}

func (c *child) exitedWithin(d time.Duration) bool {
	select {
	case <-c.group.exited:
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.group.exited:
		return true
	case <-timer.C:
		return false
	}
}

// verdict says why the server is gone, and whether Close has failed.
func (c *child) verdict(killed bool, status exitStatus) (cause, closeErr error) {
	if !c.exitedWithin(0) {
		closeErr = fmt.Errorf("transport: process %d of %s does not end after SIGKILL; it was given up", c.pid(), c.name)
	}
	if c.asked {
		return nil, closeErr
	}

	var text string
	switch streamClosed := errors.Is(c.fault, errStdoutClosed) || errors.Is(c.fault, errStdinClosed); {
	case c.fault != nil && !streamClosed:
		text = c.fault.Error()
	case killed:
		text = fmt.Sprintf("%v and did not exit within %v after it; it was killed", c.fault, faultTimeout)
	default:
		text = status.String()
	}
	return fmt.Errorf("%s %s%s", c.name, text, after("; ", c.lastWords())), closeErr
}

// lastWords is what the server said itself, quoted so that it can't be taken for
// ours.
func (c *child) lastWords() string {
	if said := c.tail.String(); said != "" {
		return fmt.Sprintf("the end of its stderr: %q", said)
	}
	if said := c.noise.String(); said != "" {
		return fmt.Sprintf("the last line on its stdout that was no message: %q", said)
	}
	return ""
}

// after returns the text behind a mark; nothing when there is no text.
func after(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}

// awaitAll waits for streams to be drained. Only a logger that hangs can make
// that take longer than an instant.
func awaitAll(drained ...<-chan struct{}) {
	timer := time.NewTimer(deliverTimeout)
	defer timer.Stop()
	for _, stream := range drained {
		select {
		case <-stream:
		case <-timer.C:
			return
		}
	}
}

func (c *child) exitStatus() exitStatus {
	switch {
	case !c.exitedWithin(0):
		return exitStatus{}
	case c.lifeline != nil:
		return c.lifeline.finish()
	}
	return c.group.status
}
