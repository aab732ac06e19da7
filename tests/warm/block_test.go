package warm

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// A block gets a process that was started before its workflow and that nobody has
// used; when the worker's Stop returns, those that wait are gone.
func TestBlockIsWarm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(b.warmed(2, b.serving()))
	before := b.awaitReady(2)
	v := b.block(toolset.Options{}).Result()
	if !slices.Contains(before, v.Pid) || v.Count != "1" {
		t.Errorf("the block saw %+v; want one of the processes %v, and the count 1", v, before)
	}
	b.awaitReady(3)
	if slices.Contains(b.Processes(), v.Pid) {
		t.Error("the process of a closed block runs on")
	}
	w.Stop()
	b.wantNobody("when Stop returned")
}

// Of thirty blocks at once no two share a process, nor does one get what another has
// left.
func TestThirtyBlocksAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(b.warmed(3, b.serving()))
	before := b.awaitReady(3)
	var blocks []fixture.Running[visit]
	for range 30 {
		blocks = append(blocks, b.block(toolset.Options{}))
	}
	used := make(map[int]bool)
	warm := 0
	for _, block := range blocks {
		v := block.Result()
		if v.Count != "1" || used[v.Pid] {
			t.Errorf("a block saw the count %s in process %d (used before: %v)", v.Count, v.Pid, used[v.Pid])
		}
		if used[v.Pid] = true; slices.Contains(before, v.Pid) {
			warm++
		}
	}
	if warm != 3 {
		t.Errorf("%d blocks had one of the processes %v, want all 3", warm, before)
	}
	w.Stop()
	b.wantNobody("when Stop returned")
}

// A secret that is rotated reaches the next block: what waits with the old one ends.
func TestSecretIsRotated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var secret atomic.Value
	secret.Store("the-first-secret")
	b.worker(session.Server{Name: "server", Warm: 1, Connect: func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
		s := b.serving()
		s.Secret = secret.Load().(string)
		return s.connector(b.TaskQueue)(ctx, argument)
	}})
	old := b.awaitReady(1)[0]
	secret.Store("the-second-secret")
	v := b.block(toolset.Options{}).Result()
	if v.Pid == old || !contains(v.Env, "the-second-secret") {
		t.Errorf("the block had process %d (the old one is %d)", v.Pid, old)
	}
	b.Eventually("the process with the old secret is gone", func() bool { return !slices.Contains(b.Processes(), old) })
	// The block's own and the one that waits next.
	next := b.awaitReady(3)
	if v := b.block(toolset.Options{}).Result(); !slices.Contains(next, v.Pid) || !contains(v.Env, "the-second-secret") {
		t.Errorf("the next block had process %d, want one of %v", v.Pid, next)
	}
}

// Each argument has its own from its first use on; nothing is started for none where
// the connector takes one.
func TestArguments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Server{Name: "server", Warm: 1, Connect: func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
		s := b.serving()
		if err := argument.Decode(&s.Secret); err != nil {
			return nil, err
		}
		return s.connector(b.TaskQueue)(ctx, argument)
	}})
	for i, tenant := range []string{"tenant-one", "tenant-two"} {
		if v := b.block(toolset.Options{Argument: tenant}).Result(); !contains(v.Env, tenant) {
			t.Errorf("the block of %s had another's process", tenant)
		}
		b.awaitReady(2 * (i + 1))
	}
	before := b.noted("ready")
	for _, tenant := range []string{"tenant-one", "tenant-two"} {
		v := b.block(toolset.Options{Argument: tenant}).Result()
		if !slices.Contains(before, v.Pid) || !contains(v.Env, tenant) || v.Count != "1" {
			t.Errorf("the second block of %s was not warm, or another's: process %d, count %s", tenant, v.Pid, v.Count)
		}
	}
}

// Workers of one process with the same specification share what waits; it ends with
// the last of them.
func TestWorkersShare(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.worker(b.warmed(2, b.serving()))
	b.awaitReady(2)
	named := b.warmed(1, b.serving())
	named.Name = "another"
	second := b.worker(named)
	first.Stop()
	b.Eventually("only what the second wants is left", func() bool { return len(b.Processes()) == 1 })
	if n := len(b.noted("start")); n != 2 {
		t.Errorf("%d processes were started, want the 2 of the first worker", n)
	}
	second.Stop()
	b.wantNobody("when the last Stop returned")
}

// A worker that is told to begins with the first block.
func TestWarmOnUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.warmed(1, b.serving())
	s.WarmOnUse = true
	w := b.worker(s)
	eager := b.warmed(1, b.serving())
	eager.Name, eager.ConnectTimeout = "eager", session.DefaultConnectTimeout+1
	other := b.worker(eager)
	b.awaitReady(1) // by when the first would have begun
	other.Stop()
	if n := len(b.noted("start")); n != 1 {
		t.Errorf("%d processes were started before a block, want the other worker's 1", n)
	}
	b.block(toolset.Options{}).Result()
	before := b.awaitReady(3)
	if v := b.block(toolset.Options{}).Result(); !slices.Contains(before, v.Pid) {
		t.Errorf("the second block had process %d, want one of %v", v.Pid, before)
	}
	w.Stop()
	b.wantNobody("when Stop returned")
}

// Without the plugin warm sessions begin with the first block, and end after the
// worker's stop.
func TestWithoutPlugin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.NewWorker(worker.Options{})
	if err := session.Register(w, b.warmed(1, b.serving())); err != nil {
		t.Fatal(err)
	}
	b.StartWorker(w)
	b.block(toolset.Options{}).Result()
	before := b.awaitReady(2)
	if v := b.block(toolset.Options{}).Result(); !slices.Contains(before, v.Pid) {
		t.Errorf("the second block had process %d, want one of %v", v.Pid, before)
	}
	w.Stop()
	b.Eventually("the processes of the worker are gone", b.nobody)
}

// A stateless call with a connection of its own takes a warm one, and nobody else
// does; the one that calls share has nothing that waits beside it.
func TestStatelessCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.warmed(1, b.serving())
	s.WarmOnUse = true
	b.worker(s)
	ask := func(argument any) visit {
		t.Helper()
		return fixture.Begin(b.Bundle, func(ctx workflow.Context) (v visit, err error) {
			c, err := stateless.New(ctx, stateless.Options{Server: "server", Argument: argument})
			if err != nil {
				return v, err
			}
			result, err := c.CallTool(ctx, fixture.Incr, nil)
			v.Count = fixture.Text(result)
			return v, err
		}).Result()
	}
	// The server has no session in the newest version, but a process is one.
	for i := range 3 {
		if v := ask(nil); v.Count != []string{"1", "2", "3"}[i] {
			t.Errorf("shared call %d saw the count %s", i, v.Count)
		}
	}
	if n := len(b.noted("start")); n != 1 {
		t.Errorf("%d processes were started for a connection that is shared", n)
	}
	for i := range 3 {
		if v := ask("argument"); v.Count != "1" {
			t.Errorf("a call with an argument saw the count %s", v.Count)
		}
		// The shared one, the calls' own, and the one that waits.
		b.Eventually("another waits", func() bool { return len(b.noted("start")) == 3+i && len(b.Processes()) == 2 })
	}
}

func init() {
	if err := session.RegisterScript("look", func(ctx context.Context, mcp *session.Conn, _ struct{}) (v visit, err error) {
		if v.Pid, err = session.Call[int](ctx, mcp, fixture.Pid, nil); err != nil {
			return v, err
		}
		v.Count, err = session.Call[string](ctx, mcp, fixture.Incr, nil)
		return v, err
	}); err != nil {
		panic(err)
	}
}

// A script takes a session that waits for blocks, and its own ConnectTimeout makes no
// pool of its own: what is started in its place is the next block's.
func TestScriptIsWarm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.warmed(1, b.serving()))
	before := b.awaitReady(1)
	script := fixture.Begin(b.Bundle, func(ctx workflow.Context) (visit, error) {
		return toolset.RunScript[visit](ctx, toolset.ScriptOptions{Server: "server", ConnectTimeout: 45 * time.Second}, "look", nil)
	}).Result()
	if !slices.Contains(before, script.Pid) || script.Count != "1" {
		t.Errorf("the script saw %+v; want the process %v, and the count 1", script, before)
	}
	next := b.awaitReady(2)
	v := b.block(toolset.Options{}).Result()
	if v.Pid == script.Pid || !slices.Contains(next, v.Pid) || v.Count != "1" {
		t.Errorf("the block after it saw %+v; want the other of the processes %v, and the count 1", v, next)
	}
	b.awaitReady(3)
	if all := b.noted("start"); len(all) != 3 {
		t.Errorf("%d processes were started, not 3", len(all))
	}
}
