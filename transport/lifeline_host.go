package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// supervisorTimeout is how long a supervisor may take to start a server. It must
// initialise all packages of this program first.
const supervisorTimeout = 10 * time.Second

// What a supervisor writes to its report pipe: a line when it has started the
// server, or could not, and a line when it is about to exit.
const (
	reportStarted = "started" // process id
	reportFailed  = "failed"  // error number
	reportExited  = "exited"  // exit status
	reportKilled  = "killed"  // signal
)

// The descriptors that a supervisor is started with, after the standard three.
const (
	lifelineDescriptor = 3 + iota
	reportDescriptor
)

// A lifeline ties a supervisor to this process. A nil one is none, and its
// methods do nothing.
type lifeline struct {
	program string        // what the supervisor starts
	server  atomic.Int64  // its process id, once it has started
	hold    *os.File      // never written to: that it closes is the message
	report  *bufio.Reader // of reportFile

	reportFile *os.File
	theirs     []*os.File // the supervisor's ends, to be closed here
}

// superviseCommand changes cmd so that it starts a supervisor which starts what
// cmd was to start. The supervisor runs in this process's own environment and
// directory, where this program has been able to start before. The server's
// environment goes in variables, one for each of its own, because arguments can
// be read by everybody on the machine.
func superviseCommand(cmd *exec.Cmd) (*lifeline, error) {
	lifelineRead, hold, holdErr := os.Pipe()
	reportFile, reportWrite, reportErr := os.Pipe()
	l := &lifeline{
		program:    cmd.Path,
		hold:       hold,
		reportFile: reportFile,
		report:     bufio.NewReader(reportFile),
		theirs:     []*os.File{lifelineRead, reportWrite},
	}
	if err := errors.Join(holdErr, reportErr); err != nil {
		l.started()
		l.close()
		return nil, err
	}
	cmd.ExtraFiles = l.theirs
	cmd.Args = append([]string{"mcpsession-lifeline", cmd.Dir, cmd.Path}, cmd.Args...)
	cmd.Path, cmd.Dir = supervisorProgram, ""
	env := append(os.Environ(), lifelineVariable+"="+strconv.Itoa(len(cmd.Env)))
	for i, entry := range cmd.Env {
		env = append(env, lifelineEntry(i)+"="+entry)
	}
	cmd.Env = env
	return l, nil
}

// started lets go of what only the supervisor may hold from its start on.
func (l *lifeline) started() {
	if l != nil {
		closeFiles(l.theirs...)
	}
}

// awaitServer returns when the supervisor has started the server.
func (l *lifeline) awaitServer(ctx context.Context) error {
	if l == nil {
		return nil
	}
	_ = l.reportFile.SetReadDeadline(time.Now().Add(supervisorTimeout))
	defer context.AfterFunc(ctx, func() {
		_ = l.reportFile.SetReadDeadline(time.Unix(1, 0))
	})()

	word, number, err := l.next()
	switch {
	case err == nil && word == reportStarted:
		l.server.Store(int64(number))
		return nil
	case err == nil && word == reportFailed:
		return &fs.PathError{Op: "exec", Path: l.program, Err: syscall.Errno(number)}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the supervisor did not start it within %v; is transport.Lifeline the first statement of main?",
			supervisorTimeout)
	}
	return fmt.Errorf("the supervisor ended before it had started it; is transport.Lifeline the first statement of main? (%w)", err)
}

// next reads the next line of the report.
func (l *lifeline) next() (word string, number int, err error) {
	line, err := l.report.ReadString('\n')
	if err != nil {
		return "", 0, err
	}
	_, err = fmt.Sscanf(line, "%s %d\n", &word, &number)
	return word, number, err
}

// cut tells the supervisor to kill everything and exit.
func (l *lifeline) cut() {
	if l != nil {
		_ = l.hold.Close()
	}
}

// killServer kills the server's group past a supervisor that fails to, or is no
// more.
func (l *lifeline) killServer() {
	if l == nil {
		return
	}
	if pid := l.server.Load(); pid != 0 {
		killGroup(int(pid))
	}
}

// finish returns how the server has ended, once its supervisor has exited.
func (l *lifeline) finish() exitStatus {
	// The supervisor alone could write: this doesn't wait.
	_ = l.reportFile.SetReadDeadline(time.Now().Add(reapTimeout))
	switch word, number, err := l.next(); {
	case err == nil && word == reportExited:
		return exitStatus{known: true, code: number}
	case err == nil && word == reportKilled:
		return exitStatus{known: true, signal: syscall.Signal(number)}
	}
	// It did not come to its end: somebody has killed it.
	l.killServer()
	return exitStatus{}
}

func (l *lifeline) close() {
	if l != nil {
		closeFiles(l.hold, l.reportFile)
	}
}
