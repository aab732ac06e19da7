package crash

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/tests/fixture"
)

// rowTimeout bounds every row: a hang is a failure, told by name.
const rowTimeout = 2 * time.Minute

// The heartbeat timeouts: of the block that is hit, whose lost host must be found
// soon, and not its second one be lost on a slow machine; and of the block after it.
const (
	hitHeartbeat  = 8 * time.Second
	anewHeartbeat = 30 * time.Second
)

// The hosts of a row, by the identities of their workers.
const (
	firstHost  = "first"  // kills itself
	secondHost = "second" // there from then on
)

// A variant is what a row is run with.
type variant struct {
	transport string
	policy    policy
	role      string // the first host's
}

const (
	overStdio = "stdio"
	overHTTP  = "HTTP"
)

// A host of sessions kills itself at each named point of a session's life, over
// stdio and over HTTP, under toolset's retry policy and one that retries after the
// loss of a host. The table says what the next attempt finds and does, what the
// workflow sees, and how often connector, handshake and tool ran; no process is
// left, and a new block works. Over all rows, no tool ran twice for one call, and
// no call was served by another session than the one that its block opened.
func TestCrashPoints(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows which processes are left, and ends those of a killed host")
	}
	t.Parallel()
	b := newBench(t)
	for _, r := range table {
		for _, transport := range []string{overStdio, overHTTP} {
			for _, under := range []policy{policyToolset, policyOwn} {
				b.start(t, r, variant{transport, under, roleHost})
			}
		}
		if r.killed == "while a call runs" {
			// A server that starts nothing and heeds the end of its input needs no Lifeline.
			b.start(t, r, variant{overStdio, policyToolset, roleBareHost})
		}
	}
}

// A bench is what all rows share: a client, a worker for each policy, the MCP
// server over HTTP, and the account of what the servers have noted.
type bench struct {
	client client.Client
	site   string
	queues map[policy]string
	ledger ledger
}

func newBench(t *testing.T) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), rowTimeout)
	defer cancel()
	c := fixture.Dial(t, ctx, server, nil)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	b := &bench{
		client: c,
		site:   fixture.StartProcess(t, ctx, fixture.Environ(roleHTTP, "")...).First,
		queues: make(map[policy]string),
	}
	for under, interceptors := range map[policy][]interceptor.WorkerInterceptor{policyToolset: nil, policyOwn: {&retrying{}}} {
		b.queues[under] = "crash-" + strings.ToLower(rand.Text())
		w := worker.New(c, b.queues[under], worker.Options{Interceptors: interceptors, DeadlockDetectionTimeout: rowTimeout})
		w.RegisterWorkflowWithOptions(uses, workflow.RegisterOptions{Name: "uses"})
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
	}
	t.Cleanup(func() { b.ledger.check(t) })
	return b
}

// start runs a row beside the others.
func (b *bench) start(t *testing.T, r row, v variant) {
	name := fmt.Sprintf("%s/%s/%s", r.killed, v.transport, v.policy)
	if v.role == roleBareHost {
		name += "/without Lifeline"
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(context.Background(), rowTimeout)
		defer cancel()
		h := hosting{
			Name: firstHost, TaskQueue: "hosts-" + strings.ToLower(rand.Text()),
			Notes: filepath.Join(t.TempDir(), "notes"), Owner: rand.Text(),
			Crash: r.point, ServerHold: r.serverHold, ServerFail: r.serverFail,
			ServerAlone: v.role == roleBareHost,
		}
		if v.transport == overHTTP {
			h.URL = b.site
		}
		(&trial{T: t, bench: b, ctx: ctx, row: r, variant: v, hosting: h}).run()
	})
}
