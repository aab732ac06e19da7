package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

const (
	heartbeatTimeout   = 5 * time.Second
	firstRetryInterval = time.Second
)

// A plan is what one run is to do.
type plan struct {
	Seed   uint64
	Hosts  string // the task queue of the hosts
	Blocks int
	Steps  int // in each block
}

// A report is what one run has seen.
type report struct {
	Blocks       int
	Calls        []called
	Losses       []loss
	OpenFailures []failure.Reason
	Wrong        []string // answers that no session of the block would give
	Odd          []string // errors of no kind that a fault explains
}

// A called is one call and what its caller learnt of it.
type called struct {
	Call     string
	Session  string // the block's
	Answered bool
	Ran      failure.ToolRan // where it failed
}

// A loss is one session's, as its block saw it first.
type loss struct {
	Server string
	Reason failure.Reason
	Host   string
	Pid    int // the MCP server's
	Seen   time.Time
}

// A visit is one block of a run.
type visit struct {
	*report
	ts      *toolset.Toolset
	run     string
	server  string
	session string
	pid     int
	wrote   map[string]string
	lost    bool
}

// roam opens one block after the other and does random things in each. It keeps
// what it wrote itself and compares.
func roam(ctx workflow.Context, p plan) (*report, error) {
	random := rand.New(rand.NewPCG(p.Seed, 0))
	r := &report{}
	for block := range p.Blocks {
		server := serverNames[random.IntN(len(serverNames))]
		ts, err := toolset.Open(ctx, toolset.Options{
			Server:      server,
			CallTimeout: 20 * time.Second,
			Session: workflow.ActivityOptions{
				TaskQueue: p.Hosts, HeartbeatTimeout: heartbeatTimeout,
				RetryPolicy: &temporal.RetryPolicy{InitialInterval: firstRetryInterval, MaximumAttempts: 3},
			},
		})
		if err != nil {
			d, ok := failure.Open(err)
			if !ok {
				r.Odd = append(r.Odd, err.Error())
			}
			r.OpenFailures = append(r.OpenFailures, d.Reason)
			continue
		}
		r.Blocks++
		v := &visit{report: r, ts: ts, server: server, wrote: make(map[string]string),
			run: fmt.Sprint(workflow.GetInfo(ctx).WorkflowExecution.RunID, "/", block)}
		v.meet(ctx)
		for step := 0; step < p.Steps && !v.lost; step++ {
			v.step(ctx, random)
		}
		if err := ts.Close(ctx); err != nil {
			v.failed(ctx, err)
		}
	}
	return r, nil
}

// meet learns which session the block has.
func (v *visit) meet(ctx workflow.Context) {
	a, ok := v.call(ctx, toolWho, arguments{})
	if ok {
		v.session, v.pid = a.Session, a.Pid
		v.Calls[len(v.Calls)-1].Session = a.Session
	}
}

func (v *visit) step(ctx workflow.Context, random *rand.Rand) {
	key := fmt.Sprint("key", random.IntN(5))
	switch random.IntN(10) {
	case 0, 1, 2:
		v.write(ctx, key, fmt.Sprint(random.Uint64()))
	case 3, 4, 5:
		if a, ok := v.call(ctx, toolRead, arguments{Key: key}); ok {
			v.want(key, a.Value, v.wrote[key])
		}
	case 6, 7:
		v.atOnce(ctx, 2+random.IntN(4))
	case 8:
		v.call(ctx, toolPause, arguments{Millis: random.IntN(1500)})
	case 9:
		v.rest(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
	}
}

func (v *visit) write(ctx workflow.Context, key, value string) {
	if a, ok := v.call(ctx, toolWrite, arguments{Key: key, Value: value}); ok {
		v.want(key, a.Value, v.wrote[key])
		v.wrote[key] = value
	}
}

func (v *visit) want(key, got, want string) {
	if got != want {
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s: %s is %q, and %q was written", v.run, key, got, want))
	}
}

// atOnce makes calls side by side, each of which writes a key of its own.
func (v *visit) atOnce(ctx workflow.Context, n int) {
	group := workflow.NewWaitGroup(ctx)
	for i := range n {
		key := fmt.Sprint("own", i)
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			v.write(ctx, key, fmt.Sprint(len(v.Calls)))
		})
	}
	group.Wait(ctx)
}

// rest does nothing for a while, unless the session ends.
func (v *visit) rest(ctx workflow.Context, d time.Duration) {
	timerCtx, cancel := workflow.WithCancel(ctx)
	workflow.NewSelector(ctx).
		AddFuture(workflow.NewTimer(timerCtx, d), func(workflow.Future) {}).
		AddFuture(v.ts.Ended(ctx), func(f workflow.Future) { v.failed(ctx, f.Get(ctx, nil)) }).
		Select(ctx)
	cancel()
}

// call makes one call, and reports whether it was answered by the session that the
// block met.
func (v *visit) call(ctx workflow.Context, tool string, in arguments) (a answer, ok bool) {
	in.Call = fmt.Sprint(v.run, "/", len(v.Calls))
	v.Calls = append(v.Calls, called{Call: in.Call, Session: v.session})
	index := len(v.Calls) - 1
	result, err := v.ts.CallTool(ctx, tool, in)
	made := &v.Calls[index] // others may have been appended meanwhile
	if err != nil {
		made.Ran = failure.RanOf(err)
		v.failed(ctx, err)
		return a, false
	}
	made.Answered = true
	if err := decode(result, &a); err != nil {
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s: %v", in.Call, err))
		return a, false
	}
	if v.session != "" && a.Session != v.session {
		v.Wrong = append(v.Wrong, fmt.Sprintf("%s: session %s answered, not %s", in.Call, a.Session, v.session))
		return a, false
	}
	return a, true
}

func decode(result *mcp.CallToolResult, a *answer) error {
	if result.IsError || len(result.Content) != 1 {
		return fmt.Errorf("the result is an error: %+v", result.Content)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return errors.New("the result has no text")
	}
	return json.Unmarshal([]byte(text.Text), a)
}

// failed notes the loss of the session, once, or what else an error is.
func (v *visit) failed(ctx workflow.Context, err error) {
	d, ok := failure.DedicatedWorker(err)
	switch {
	case !ok:
		v.Odd = append(v.Odd, fmt.Sprintf("%s (%s): %v", v.run, v.server, err))
		v.lost = true
	case !v.lost:
		v.lost = true
		var now time.Time
		if err := workflow.SideEffect(ctx, func(workflow.Context) any { return time.Now() }).Get(&now); err != nil {
			v.Odd = append(v.Odd, err.Error())
		}
		v.Losses = append(v.Losses, loss{v.server, d.Reason, d.Host, v.pid, now})
	}
}
