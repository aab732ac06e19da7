package tests

import (
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A sluggish codec changes nothing and takes its time, as one that asks another
// machine for a key does.
type sluggish time.Duration

func (s sluggish) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	time.Sleep(time.Duration(s))
	return payloads, nil
}

func (s sluggish) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return s.Encode(payloads)
}

// linkedWithCodec is linked, with a codec in the client of the hosts.
func (b *bundle) linkedWithCodec(codec converter.PayloadCodec) *linked {
	b.Helper()
	return b.linked(func(o *client.Options) {
		o.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	})
}

// A codec takes seconds for all payloads of the host, those of heartbeats too. As
// long as that is less than a third of the heartbeat timeout no heartbeat comes
// too late, while the session opens and during a call.
func TestCodecTakesSeconds(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	l := b.linkedWithCodec(sluggish(2 * time.Second))
	l.hostFar(worker.Options{}, b.noting(ownedFixture(b.taskQueue)))
	d := b.drive(b.options(15 * time.Second))
	block := d.open()
	arguments := fixture.BlockArguments{Began: b.file("began"), Until: b.file("until")}
	call := block.beginCall(fixture.Block, arguments)
	b.awaitLines(arguments.Began, 1)
	// More than a heartbeat timeout, at an interval of five seconds.
	l.awaitMoreBeats(2)
	if err := fixture.AppendLine(arguments.Until, "now"); err != nil {
		t.Fatal(err)
	}
	if text, err := call.text(); err != nil || text != "done" {
		t.Errorf("the call returned %q, %v", text, err)
	}
	d.wantMarker(heartbeat.Opened)
	if attempt := d.sessionActivity().GetAttempt(); attempt != 1 {
		t.Errorf("attempt %d of the session activity runs", attempt)
	}
	if err := block.close(); err != nil {
		t.Error(err)
	}
	b.wantServerGone()
	b.wantConnects("here")
	b.wantOpens(1)
}

// A codec takes longer than the heartbeat timeout: no session can be kept, so none
// is opened, on any of the tries, and the block is told that its hosts are lost.
func TestCodecTakesLongerThanTheHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	l := b.linkedWithCodec(sluggish(shortHeartbeat + time.Second))
	l.hostFar(worker.Options{}, b.noting(ownedFixture(b.taskQueue)))
	d := b.drive(b.options(shortHeartbeat))
	_, err := d.tryOpen()
	details, ok := failure.Open(err)
	if !ok || details.Reason != failure.ReasonHostLost || failure.RanOf(err) != failure.RanNo {
		t.Errorf("the block failed to open with %+v: %v", details, err)
	}
	t.Log(err)
	b.wantOpens(0)
}
