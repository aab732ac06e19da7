package playwright

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// stopTimeout is how long a server may take to close its browser.
const stopTimeout = 10 * time.Second

// A Server is Playwright MCP over HTTP.
type Server struct {
	URL string // of its MCP endpoint

	command *exec.Cmd
	ended   chan struct{}
	err     error
}

// listening is what the server says when it is ready.
var listening = regexp.MustCompile(`Listening on (http://\S+)`)

// Serve starts a server on a port of localhost, any that is free if it is 0, and
// returns when it is ready. The end of ctx ends the server. What it writes goes to
// output. Directory scratch is as for Connector.
//
// All sessions share one browser, and have contexts of their own in it. So the
// server ends, with all of them, when the browser dies.
func (i Installation) Serve(ctx context.Context, scratch string, port int, output io.Writer) (*Server, error) {
	command := exec.CommandContext(ctx, i.Node, i.arguments(scratch, "--port", strconv.Itoa(port))...)
	command.Env = append(os.Environ(), environment(scratch)...)
	command.Dir = scratch
	command.Cancel = func() error {
		if err := command.Process.Signal(os.Interrupt); err != nil { // Windows can't
			return command.Process.Kill()
		}
		return nil
	}
	command.WaitDelay = stopTimeout
	stderr, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}

	s := &Server{command: command, ended: make(chan struct{})}
	ready := make(chan string, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			fmt.Fprintln(output, lines.Text())
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				select {
				case ready <- found[1]:
				default:
				}
			}
		}
		_, _ = io.Copy(io.Discard, stderr)
		s.err = command.Wait()
	}()
	select {
	case url := <-ready:
		s.URL = url + "/mcp"
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("the server has ended: %w", errors.Join(s.err, ctx.Err()))
	}
}

// Wait returns when the server has ended. The error says how, and is nil if it was
// told to.
func (s *Server) Wait() error {
	<-s.ended
	return s.err
}

// PID is the server's process id.
func (s *Server) PID() int { return s.command.Process.Pid }
