package tests

import (
	"context"
	"errors"
	"sync"
	"testing"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/tests/link"
)

// A describer puts faults on the reading of the workflow execution, which an
// attempt does to see its own may-be-open.
type describer struct {
	*linked
	choose func(k *describer, ask asking) link.Fault

	mu    sync.Mutex
	asked map[int]int                                                // how often each attempt has asked
	try   int                                                        // the attempt that runs
	stale *workflowservice.DescribeWorkflowExecutionResponse         // as of before the marker
	shown map[int]*workflowservice.DescribeWorkflowExecutionResponse // what each attempt was last shown
}

// An asking is one reading: the n-th of an attempt, both from 1.
type asking struct{ try, n int }

func (l *linked) describer(choose func(*describer, asking) link.Fault) *describer {
	k := &describer{linked: l, choose: choose, asked: make(map[int]int), shown: make(map[int]*workflowservice.DescribeWorkflowExecutionResponse)}
	l.onBeats(func(seen beat) link.Fault {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.try = seen.Try
		if seen.Marker == heartbeat.MayBeOpen && seen.N == 1 {
			return k.keepStale
		}
		return nil
	})
	l.link.Put(link.Describe, func(ctx context.Context, request any, forward link.Forward) (any, error) {
		k.mu.Lock()
		k.asked[k.try]++
		ask := asking{k.try, k.asked[k.try]}
		k.mu.Unlock()
		answer := func(ctx context.Context) (any, error) {
			reply, err := forward(ctx)
			if shown, ok := reply.(*workflowservice.DescribeWorkflowExecutionResponse); ok && err == nil {
				k.mu.Lock()
				k.shown[ask.try] = proto.CloneOf(shown)
				k.mu.Unlock()
			}
			return reply, err
		}
		if fault := choose(k, ask); fault != nil {
			return fault(ctx, request, answer)
		}
		return answer(ctx)
	})
	return k
}

// keepStale reads the workflow execution before it lets a heartbeat pass.
func (k *describer) keepStale(ctx context.Context, request any, forward link.Forward) (any, error) {
	reply, err := k.link.Direct().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: server.Namespace, Execution: (&driver{bundle: k.bundle, run: k.client.GetWorkflow(ctx, k.taskQueue, "")}).execution(),
	})
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.stale = reply
	k.mu.Unlock()
	return forward(ctx)
}

// asBeforeTheMarker answers with what was read before the marker was there.
func (k *describer) asBeforeTheMarker(context.Context, any, link.Forward) (any, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stale, nil
}

// asOf answers with what another attempt was shown.
func (k *describer) asOf(try int) link.Fault {
	return func(context.Context, any, link.Forward) (any, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.shown[try], nil
	}
}

// rewritten answers with a session activity that is another than the server's.
func rewritten(change func(*workflowpb.PendingActivityInfo)) link.Fault {
	return func(ctx context.Context, _ any, forward link.Forward) (any, error) {
		reply, err := forward(ctx)
		if err != nil {
			return nil, err
		}
		shown := reply.(*workflowservice.DescribeWorkflowExecutionResponse)
		for _, pending := range shown.GetPendingActivities() {
			if pending.GetActivityType().GetName() == queue.SessionActivity("counter") {
				change(pending)
			}
		}
		return shown, nil
	}
}

// asAnotherAttempts gives the marker to another attempt.
func asAnotherAttempts(pending *workflowpb.PendingActivityInfo) {
	details := pending.GetHeartbeatDetails().GetPayloads()
	var author heartbeat.Author
	if err := converter.GetDefaultDataConverter().FromPayload(details[1], &author); err != nil {
		panic(err)
	}
	author.Attempt++
	another, err := converter.GetDefaultDataConverter().ToPayload(author)
	if err != nil {
		panic(err)
	}
	details[1] = another
}

// What an attempt is shown of itself comes late, is old, is another's, or is
// forbidden: it opens a session only once it has seen its own marker. Else it
// takes the marker back, and another attempt may open one.
func TestDescribeMisleads(t *testing.T) {
	t.Parallel()
	forAttempts := func(tries, times int, fault func(*describer) link.Fault) func(*describer, asking) link.Fault {
		return func(k *describer, ask asking) link.Fault {
			if ask.try <= tries && ask.n <= times {
				return fault(k)
			}
			return nil
		}
	}
	always := func(f link.Fault) func(*describer) link.Fault { return func(*describer) link.Fault { return f } }
	const every = 1 << 30
	for name, tc := range map[string]struct {
		choose       func(*describer, asking) link.Fault
		connectFails bool           // in the first attempt
		reason       failure.Reason // none: the block opens
		attempt      int32          // that opens
		connects     int
		asks         asking // at least so many of the last attempt
	}{
		"slow once":          {forAttempts(1, 1, always(link.Lost)), false, "", 1, 1, asking{1, 2}},
		"slow for too long":  {forAttempts(1, every, always(link.Lost)), false, "", 2, 2, asking{2, 1}},
		"slow for ever":      {forAttempts(every, every, always(link.Lost)), false, failure.ReasonMarker, 0, 3, asking{3, 2}},
		"an error, twice":    {forAttempts(1, 2, always(link.Refused(codes.Internal))), false, "", 1, 1, asking{1, 3}},
		"stale twice":        {forAttempts(1, 2, func(k *describer) link.Fault { return k.asBeforeTheMarker }), false, "", 1, 1, asking{1, 3}},
		"stale for too long": {forAttempts(1, every, func(k *describer) link.Fault { return k.asBeforeTheMarker }), false, "", 2, 2, asking{2, 1}},
		"as of the attempt before": {func(k *describer, ask asking) link.Fault {
			if ask.try == 2 && ask.n <= 2 {
				return k.asOf(1)
			}
			return nil
		}, true, "", 2, 2, asking{2, 3}},
		"another attempt's, twice": {forAttempts(1, 2, always(rewritten(asAnotherAttempts))), false, "", 1, 1, asking{1, 3}},
		"another attempt's, for too long": {
			forAttempts(1, every, always(rewritten(asAnotherAttempts))), false, "", 2, 2, asking{2, 1},
		},
		"another marker, twice": {forAttempts(1, 2, always(rewritten(func(p *workflowpb.PendingActivityInfo) {
			p.HeartbeatDetails.Payloads[0].Data = []byte(`"` + heartbeat.Cleared + `"`)
		}))), false, "", 1, 1, asking{1, 3}},
		"forbidden midway": {func(k *describer, ask asking) link.Fault {
			if ask.n == 1 {
				return k.asBeforeTheMarker
			}
			return link.Refused(codes.PermissionDenied)
		}, false, failure.ReasonDescribeDenied, 0, 1, asking{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			l := b.linked()
			k := l.describer(tc.choose)
			connect := ownedFixture(b.taskQueue)
			if tc.connectFails {
				connect = inTurn(bring(refusing{errors.New("no licence is free")}), connect)
			}
			l.hostFar(worker.Options{}, b.noting(connect))
			d := b.drive(b.options(longHeartbeat))
			block, err := d.tryOpen()
			if n := len(b.connects()); n != tc.connects {
				t.Errorf("the connector was run %d times, want %d", n, tc.connects)
			}
			k.mu.Lock()
			if n := k.asked[tc.asks.try]; n < tc.asks.n {
				t.Errorf("attempt %d has asked %d times, want %d at least", tc.asks.try, n, tc.asks.n)
			}
			k.mu.Unlock()
			if tc.reason != "" {
				details, ok := failure.Open(err)
				if !ok || details.Reason != tc.reason || failure.RanOf(err) != failure.RanNo || failure.IsDedicatedWorker(err) {
					t.Errorf("the block failed to open with %+v: %v", details, err)
				}
				b.wantOpens(0)
				// Nothing is left that forbids another try.
				l.link.Put(link.Describe, nil)
				block = d.open()
			} else if err != nil {
				t.Fatal(err)
			} else if attempt := d.sessionActivity().GetAttempt(); attempt != tc.attempt {
				t.Errorf("attempt %d opened, want %d", attempt, tc.attempt)
			}
			block.must(fixture.Incr)
			block.wantCounter(1)
			b.wantOpens(1)
			if err := block.close(); err != nil {
				t.Error(err)
			}
			b.wantServerGone()
		})
	}
}
