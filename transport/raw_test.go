//go:build unix

package transport

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Raw returns a transport as Command makes it, with run at the other end of the
// pipes in the place of a process: nothing else of it differs. A thousand of them
// start in the time of one process. Run gets its own ends of the pipes, which are
// closed once it has returned its exit status; it must return when its input ends.
func Raw(options CommandOptions, run func(stdin, stdout, stderr *os.File) int) Watched {
	return &raw{
		command: &command{life: newLife(), options: options.withDefaults(), name: "raw"},
		run:     run,
	}
}

type raw struct {
	*command
	run func(stdin, stdout, stderr *os.File) int
}

func (r *raw) Connect(ctx context.Context) (mcp.Connection, error) {
	return r.life.connect(ctx, r.start)
}

func (r *raw) start(ctx context.Context) (mcp.Connection, error) {
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	// There is no process that a signal could reach.
	processes := &group{process: new(os.Process), exited: make(chan struct{}), reaped: true}
	go func() {
		defer close(processes.exited)
		code := r.run(pipes.child[0], pipes.child[1], pipes.child[2])
		pipes.closeChild()
		processes.status = exitStatus{known: true, code: code}
	}()
	server := &child{
		command:       r.command,
		group:         processes,
		redactor:      newRedactor(nil),
		stdin:         pipes.own[0],
		stdout:        &outlet{file: pipes.own[1]},
		stderr:        &outlet{file: pipes.own[2]},
		tail:          &tail{limit: r.options.StderrTail},
		stdoutDrained: make(chan struct{}),
		stderrDrained: make(chan struct{}),
	}
	go server.drainStderr()
	return server.serve(ctx)
}
