package soak

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/tests/fixture"
)

var (
	duration = flag.Duration("soak", time.Minute, "how long the soak lasts")
	runs     = flag.Int("runs", 8, "how many workflows run at once")
	seed     = flag.Uint64("seed", 0, "what the faults and the workflows are drawn from; zero draws it")
)

// While hosts and MCP servers are killed, stopped and paused at random, no block
// gets an answer that another session would give, no call runs twice, what a caller
// is told of its call is so, every session that a fault has ended is told as lost,
// for a reason that fits the fault, and no process is left.
func TestSoak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the processes of others")
	}
	if *seed == 0 {
		*seed = mathrand.Uint64()
	}
	t.Logf("seed %d", *seed)
	ctx, cancel := context.WithTimeout(context.Background(), *duration+5*time.Minute)
	defer cancel()
	c := &chaos{
		T:      t,
		random: mathrand.New(mathrand.NewPCG(*seed, 1)),
		owner:  strings.ToLower(rand.Text()),
		log:    filepath.Join(t.TempDir(), "calls"),
		addr:   freeAddress(t),
		hosts:  make(map[string]*exec.Cmd),
	}
	c.queue = "soak-" + c.owner
	defer c.stop()
	c.start()
	roaming := startWorker(ctx, t, c.queue)

	tally := &tally{losses: make(map[string]*told)}
	done := make(chan struct{})
	var workers sync.WaitGroup
	var next atomic.Uint64
	for range *runs {
		workers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := roaming.run(ctx, plan{Seed: *seed + next.Add(1), Hosts: c.queue, Blocks: 3, Steps: 15})
				tally.add(r, err)
				if ctx.Err() != nil {
					return
				}
			}
		})
	}
	harmful, end := context.WithTimeout(ctx, *duration)
	defer end()
	workers.Go(func() { tally.progress(harmful, t) })
	c.harm(harmful)
	close(done)
	workers.Wait()
	left := c.stop()
	tally.check(c.log, c.acts)
	tally.print(t, c.acts, len(left))
	for _, wrong := range tally.wrong {
		t.Error(wrong)
	}
	if len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if tally.blocks == 0 || len(c.acts) == 0 {
		t.Errorf("there were %d blocks and %d faults", tally.blocks, len(c.acts))
	}
}

// A freeAddress is one that nobody listens at, now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A roamer starts runs of roam.
type roamer struct {
	client.Client
	queue string
}

func startWorker(ctx context.Context, t *testing.T, hosts string) *roamer {
	t.Helper()
	c := fixture.Dial(t, ctx, server, nil)
	queue := hosts + "-workflows"
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflowWithOptions(roam, workflow.RegisterOptions{Name: "roam"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return &roamer{c, queue}
}

func (r *roamer) run(ctx context.Context, p plan) (*report, error) {
	run, err := r.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: r.queue, ID: fmt.Sprint(r.queue, "-", p.Seed)}, "roam", p)
	if err != nil {
		return nil, err
	}
	var got report
	return &got, run.Get(ctx, &got)
}
