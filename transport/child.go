package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A child is a server's process and the goroutines that serve it:
//
//	await            waits for the exit, on a thread of its own
//	run              ends the process, one way or the other
//	forwardMessages  stdout → the MCP SDK
//	drainStderr      stderr → logger, tail
//
// They all end by themselves once the process has exited or was given up.
type child struct {
	*command
	group    *group
	lifeline *lifeline // nil unless supervised
	redactor *redactor

	stdin          *os.File
	stdout, stderr *outlet
	connection     *connection

	tail  *tail
	noise noise

	stdoutDrained chan struct{} // closed when forwardMessages is done
	stderrDrained chan struct{} // closed when drainStderr is done
}

// start starts the server's process and connects to it. Whatever it started is
// ended when it fails.
func (c *command) start(ctx context.Context) (mcp.Connection, error) {
	server, err := c.launch()
	if err != nil {
		return nil, startError(c.name, c.executable, err)
	}
	c.server.Store(server)
	go server.drainStderr()
	if err := server.lifeline.awaitServer(ctx); err != nil {
		server.abandon()
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, startError(c.name, c.executable, fmt.Errorf("%w%s", err, after("; ", server.lastWords())))
	}
	return server.serve(ctx)
}

// launch starts the process: the server itself, or a supervisor that is about to
// start it.
func (c *command) launch() (*child, error) {
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	defer pipes.closeChild()
	cmd := exec.Command(c.executable)
	cmd.Args = append([]string{c.name}, c.args...)
	cmd.Env = c.env.entries()
	cmd.Dir = c.options.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.child[0], pipes.child[1], pipes.child[2]

	var supervisor *lifeline
	if c.supervised {
		if supervisor, err = superviseCommand(cmd); err != nil {
			pipes.closeOwn()
			return nil, err
		}
	}
	// A supervisor must outlive this process: it has work to do then.
	processes, err := startGroup(cmd, !c.supervised)
	supervisor.started()
	if err != nil {
		pipes.closeOwn()
		supervisor.close()
		return nil, err
	}
	return &child{
		command:       c,
		group:         processes,
		lifeline:      supervisor,
		redactor:      newRedactor(c.env.secrets),
		stdin:         pipes.own[0],
		stdout:        &outlet{file: pipes.own[1]},
		stderr:        &outlet{file: pipes.own[2]},
		tail:          &tail{limit: c.options.StderrTail},
		stdoutDrained: make(chan struct{}),
		stderrDrained: make(chan struct{}),
	}, nil
}

// serve makes the connection and starts what looks after the process.
func (c *child) serve(ctx context.Context) (mcp.Connection, error) {
	source, sink := io.Pipe()
	inner, err := (&mcp.IOTransport{
		Reader:        source,
		Writer:        c.stdin,
		MaxLineLength: -1, // forwardMessages has the limit
	}).Connect(ctx)
	if err != nil {
		c.abandon()
		return nil, err
	}
	c.connection = newConnection(inner, c.life, c.name)
	c.connection.redactor = c.redactor
	go c.forwardMessages(sink)
	go c.run()
	return c.connection, nil
}

// abandon ends a server that has not come to be connected.
func (c *child) abandon() {
	_ = c.stdin.Close()
	c.kill()
	c.stdout.close()
	c.stderr.serverExited()
	awaitAll(c.stderrDrained)
	c.lifeline.close()
}

// pid is the server's own, also where there is a supervisor.
func (c *child) pid() int {
	if c.lifeline != nil {
		return int(c.lifeline.server.Load())
	}
	return c.group.process.Pid
}

// pipes are the three standard streams of a process, seen from both sides.
type pipes struct {
	own, child [3]*os.File
}

func newPipes() (*pipes, error) {
	p := new(pipes)
	var errs [3]error
	p.child[0], p.own[0], errs[0] = os.Pipe()
	p.own[1], p.child[1], errs[1] = os.Pipe()
	p.own[2], p.child[2], errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		p.closeChild()
		p.closeOwn()
		return nil, err
	}
	return p, nil
}

func (p *pipes) closeChild() { closeFiles(p.child[:]...) }
func (p *pipes) closeOwn()   { closeFiles(p.own[:]...) }

// closeFiles closes files; some may be nil.
func closeFiles(files ...*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
