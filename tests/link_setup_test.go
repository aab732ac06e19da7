package tests

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/link"
	"github.com/mcpsession/mcpsession/transport"
)

// linkHeartbeat is the heartbeat timeout where heartbeats go wrong: long enough for
// a busy machine to have a second one in time.
const linkHeartbeat = 3 * shortHeartbeat

// A linked is a test whose hosts reach the server through a link. Its workflows
// don't.
type linked struct {
	*bundle
	link  *link.Link
	far   *bundle       // the same test, its client behind the link
	beats *atomic.Int32 // heartbeats of session activities so far
}

func (b *bundle) linked(change ...func(*client.Options)) *linked {
	b.Helper()
	l, err := link.Start(server.Address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(l.Close)
	far := *b
	far.client = b.dial(func(o *client.Options) {
		o.HostPort = l.Address()
		for _, c := range change {
			c(o)
		}
	})
	k := &linked{bundle: b, link: l, far: &far, beats: new(atomic.Int32)}
	k.onBeats(func(beat) link.Fault { return nil })
	return k
}

// hostFar starts a host behind the link.
func (l *linked) hostFar(on worker.Options, of session.Server) worker.Worker {
	l.Helper()
	w := l.far.host(on, session.Options{Servers: []session.Server{of}})
	l.Cleanup(l.link.Mend) // before the worker stops
	return w
}

// noting is a server that notes in the test's files when its connector is run and
// when a server is started; see wantConnects and wantOpens.
func (b *bundle) noting(connect transport.Connector) session.Server {
	return b.counted(func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		t, err := connect(ctx, arg)
		if watched, ok := t.(transport.Watched); ok && err == nil {
			return noted{watched, b.file("opens"), "here"}, nil
		}
		return t, err
	})
}

// A beat is a heartbeat of a session activity.
type beat struct {
	Try    int              // of which attempt, of whatever activity, in order
	Marker heartbeat.Marker // none at first
	N      int              // which one of its attempt and marker, from 1
}

// onBeats lets choose put a fault on each heartbeat of a session activity, from now
// on; nil is none.
func (l *linked) onBeats(choose func(beat) link.Fault) {
	var mu sync.Mutex
	tries := make(map[string]int)
	counts := make(map[beat]int)
	l.link.Put(link.Beat, func(ctx context.Context, request any, forward link.Forward) (any, error) {
		r := request.(*workflowservice.RecordActivityTaskHeartbeatRequest)
		if l.link.Task(r.GetTaskToken()).ActivityType != queue.SessionActivity("counter") {
			return forward(ctx)
		}
		mu.Lock()
		token := string(r.GetTaskToken())
		if tries[token] == 0 {
			tries[token] = len(tries) + 1
		}
		b := beat{Try: tries[token], Marker: markerOf(r.GetDetails())}
		counts[b]++
		b.N = counts[b]
		fault := choose(b)
		mu.Unlock()
		l.beats.Add(1)
		if fault == nil {
			return forward(ctx)
		}
		return fault(ctx, request, forward)
	})
}

// markerOf returns the marker in a heartbeat's details; empty when there is none.
func markerOf(details *commonpb.Payloads) (marker heartbeat.Marker) {
	if payloads := details.GetPayloads(); len(payloads) > 0 {
		_ = converter.GetDefaultDataConverter().FromPayload(payloads[0], &marker)
	}
	return marker
}

// wantMarker returns once the server has this marker of the session activity.
func (d *driver) wantMarker(marker heartbeat.Marker) {
	d.Helper()
	d.eventually("the server has the marker "+string(marker), func() bool {
		return markerOf(d.sessionActivity().GetHeartbeatDetails()) == marker
	})
}

// wantServerGone returns once no server process of the test is left.
func (b *bundle) wantServerGone() {
	b.Helper()
	b.eventually("the MCP server is gone", func() bool { return len(b.processes()) == 0 })
}

// awaitMoreBeats returns once that many more heartbeats of session activities have
// gone through the link.
func (l *linked) awaitMoreBeats(n int) {
	l.Helper()
	// The last one that came may be under way; the writer sends one at a time.
	want := l.beats.Load() + int32(n) + 1
	l.eventually("more heartbeats have come", func() bool { return l.beats.Load() >= want })
}
