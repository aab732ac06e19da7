package tests

import (
	"context"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc/codes"

	"github.com/mcpsession/mcpsession/tests/link"
	"github.com/mcpsession/mcpsession/toolset"
)

var linkSeed = flag.Uint64("link-seed", 0, "seed of the faults of links; 0 takes another one each time")

// A chance is a fault that some requests get.
type chance struct {
	name    string
	percent float64
	fault   link.Fault
}

// A dice puts faults on requests by chance, and counts them.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
	thrown map[string]int
}

func (b *bundle) dice() *dice {
	b.Helper()
	seed := *linkSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	b.Logf("-link-seed=%d", seed)
	return &dice{random: rand.New(rand.NewPCG(seed, 0)), thrown: make(map[string]int)}
}

// throw returns the fault of one request; nil for none.
func (d *dice) throw(of string, chances []chance) link.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.random.Float64() * 100
	for _, c := range chances {
		if at -= c.percent; at < 0 {
			d.thrown[of+" "+c.name]++
			return c.fault
		}
	}
	return nil
}

// of is a fault that each request which is meant gets one of by chance.
func (d *dice) of(name string, chances []chance, meant func(request any) bool) link.Fault {
	return func(ctx context.Context, request any, forward link.Forward) (any, error) {
		if meant(request) {
			if fault := d.throw(name, chances); fault != nil {
				return fault(ctx, request, forward)
			}
		}
		return forward(ctx)
	}
}

// wantThrown fails the test unless every kind of fault has come.
func (d *dice) wantThrown(b *bundle, of string, chances []chance) {
	b.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range chances {
		if d.thrown[of+" "+c.name] == 0 {
			b.Errorf("no %s %s", of, c.name)
		}
	}
}

// What becomes of the report of an operation's end. The SDK sends it again when
// the server seems to be unavailable; what gets lost comes back with the next
// attempt of the operation, once its time is up.
var (
	reports = []chance{
		{"applied, then unavailable", 12, link.Failed(codes.Unavailable)},
		{"applied, then no answer", 8, link.Failed(codes.DeadlineExceeded)},
		{"not applied, unavailable", 10, link.Refused(codes.Unavailable)},
		{"not applied, no answer", 2, link.Refused(codes.DeadlineExceeded)},
		{"applied twice", 10, link.Twice},
	}
	polls = []chance{{"lost with its task", 1, link.TaskLost}}
	beats = []chance{
		{"applied, then unavailable", 15, link.Failed(codes.Unavailable)},
		{"not applied, unavailable", 15, link.Refused(codes.Unavailable)},
		{"applied twice", 15, link.Twice},
	}
)

// loadOptions are those of blocks whose lost operations come back soon.
func (b *bundle) loadOptions(heartbeat time.Duration) toolset.Options {
	options := b.options(heartbeat)
	options.CallTimeout, options.Operation.StartToCloseTimeout = 5*time.Second, 6*time.Second
	return options
}

// A thousand calls, many at once, of which the reports and the polls get lost,
// come twice or are answered with errors: each is made once, as the server's own
// notes say, and each caller gets its own answer.
func TestAnswersGetLost(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	l := b.linked()
	d := b.dice()
	ofBlock := func(token []byte) bool { return isBlockQueue(l.link.Task(token).TaskQueue) }
	l.link.Put(link.Complete, d.of("report", reports, func(r any) bool {
		return ofBlock(r.(*workflowservice.RespondActivityTaskCompletedRequest).GetTaskToken())
	}))
	l.link.Put(link.Fail, d.of("report", reports, func(r any) bool {
		return ofBlock(r.(*workflowservice.RespondActivityTaskFailedRequest).GetTaskToken())
	}))
	l.link.Put(link.Poll, d.of("poll", polls, func(r any) bool {
		return isBlockQueue(r.(*workflowservice.PollActivityTaskQueueRequest).GetTaskQueue().GetName())
	}))
	l.link.Put(link.Beat, d.of("heartbeat", beats, func(any) bool { return true }))
	l.hostFar(worker.Options{}, b.noting(ownedFixture(b.taskQueue)))
	thousand := load{Runs: 5, Blocks: 2, Lanes: 10, Calls: 10}
	b.carry(thousand, b.loadOptions(longHeartbeat), nil)
	d.wantThrown(b, "report", reports)
	d.wantThrown(b, "poll", polls)
	n := b.retried(thousand)
	b.Logf("%d calls took more than one attempt; faults: %v", n, d.thrown)
	if n == 0 {
		t.Error("no call came back by another attempt")
	}
}

// The connections between the host and the server break again and again, and for a
// short while there are no new ones: nothing is lost by that but time.
func TestConnectionsBreak(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	l := b.linked()
	d := b.dice()
	l.hostFar(worker.Options{}, b.noting(ownedFixture(b.taskQueue)))
	var breaks int
	var done sync.WaitGroup
	done.Add(1)
	b.carry(load{Runs: 3, Blocks: 2, Lanes: 10, Calls: 3}, b.loadOptions(longHeartbeat), func(over <-chan struct{}) {
		defer done.Done()
		for next := 15; ; {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if l.link.Count(link.Complete) < next {
				continue
			}
			next = l.link.Count(link.Complete) + 15
			d.mu.Lock()
			outage := time.Duration(d.random.IntN(int(time.Second)))
			d.mu.Unlock()
			l.link.Reset(outage)
			breaks++
		}
	})
	done.Wait()
	b.Logf("the connections broke %d times", breaks)
	if breaks < 5 {
		t.Errorf("the connections broke %d times only", breaks)
	}
}
