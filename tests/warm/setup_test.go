package warm

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// testTimeout bounds every test: a hang is a failure, told by name.
const testTimeout = 3 * time.Minute

// A bundle is what one test has to itself.
type bundle struct{ *fixture.Bundle }

func setup(t *testing.T) *bundle {
	t.Helper()
	return &bundle{fixture.Setup(t, server, testTimeout, nil)}
}

func (b *bundle) nobody() bool { return len(b.Processes()) == 0 }

// wantNobody fails the test if a process of it runs.
func (b *bundle) wantNobody(when string) {
	b.Helper()
	if left := b.Processes(); len(left) > 0 {
		b.Errorf("processes %v were there %s", left, when)
	}
}

func (b *bundle) signal(pid int, signal syscall.Signal) {
	b.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		b.Fatal(err)
	}
}

// worker starts a worker that runs the test's workflows and holds sessions of servers.
func (b *bundle) worker(servers ...session.Server) worker.Worker {
	b.Helper()
	return b.StartWorker(b.NewWorker(worker.Options{Plugins: []worker.Plugin{b.Plugin(session.Options{Servers: servers})}}))
}

// A visit is what a workflow saw of a block that counts once.
type visit struct {
	Pid   int
	Count string // of a server that nobody has used before, 1
	Env   string
}

// block opens a block, looks round, and closes it.
func (b *bundle) block(options toolset.Options) fixture.Running[visit] {
	b.Helper()
	return fixture.Begin(b.Bundle, func(ctx workflow.Context) (visit, error) { return look(ctx, options) })
}

func look(ctx workflow.Context, options toolset.Options) (v visit, err error) {
	options.Server = "server"
	err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
		if v.Count, err = call(ctx, ts, fixture.Incr); err != nil {
			return err
		}
		pid, err := call(ctx, ts, fixture.Pid)
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(pid, &v.Pid); err != nil {
			return err
		}
		v.Env, err = call(ctx, ts, fixture.Env)
		return err
	})
	return v, err
}

func call(ctx workflow.Context, ts *toolset.Toolset, tool string) (string, error) {
	result, err := ts.CallTool(ctx, tool, nil)
	return fixture.Text(result), err
}
