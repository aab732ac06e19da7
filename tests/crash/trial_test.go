package crash

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A trial is one run of a row.
type trial struct {
	*testing.T
	*bench
	ctx context.Context
	row
	variant
	hosting
	execution client.WorkflowRun
	last      time.Time // when the step before the one that runs now was done
}

// done logs how long a step took: a row that is slow says where.
func (t *trial) done(step string) {
	t.Helper()
	t.Logf("%s after %v", step, time.Since(t.last).Round(time.Millisecond))
	t.last = time.Now()
}

func (t *trial) run() {
	t.last = time.Now()
	t.Cleanup(func() { t.ledger.add(t.T, fixture.Lines(t.Notes), t.tools+1) })
	first := fixture.StartHost(t.T, t.ctx, server, t.role, t.Owner, t.hosting)
	t.done("the first host ran")
	t.begin()
	use := t.use(blockHit, hitHeartbeat)
	t.awaitKilled(first, use)
	t.done("it was killed")
	t.awaitNoProcess("once the host was killed")
	t.done("its processes were gone")
	t.startSecond()
	hit := t.seen(use)
	t.done("the workflow was through with the block")
	t.checkSeen(hit)
	t.checkSessions()
	t.checkNotes()
	t.checkKept(blockHit, map[string]int{keepsNothing: 0, keepsSession: 1}[t.keeps])

	t.checkAnew()
	calls := 1
	if hit.Call != nil {
		calls++ // none for a call after the loss
	}
	if n := t.scheduled(isCall); n != calls {
		t.Errorf("%d calls were scheduled, want %d", n, calls)
	}
	t.end()
	t.awaitNoProcess("at the end")
}

// awaitKilled returns once the host has killed itself.
func (t *trial) awaitKilled(host *fixture.Process, use client.WorkflowUpdateHandle) {
	t.Helper()
	select {
	case <-host.Gone():
	case <-time.After(rowTimeout / 2):
		t.Fatalf("the host did not come to its point in time; the workflow saw %s", t.seen(use))
	}
	if status, ok := host.State().Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the host ended by itself: %v", host.State())
	}
}

// begin starts the row's workflow and sees to it that it is over at the end.
func (t *trial) begin() {
	t.Helper()
	var err error
	t.execution, err = t.client.ExecuteWorkflow(t.ctx, client.StartWorkflowOptions{ID: t.TaskQueue, TaskQueue: t.queues[t.policy]}, "uses")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), rowTimeout)
		defer cancel()
		t.tellHistory(ctx)
		// It fails if the workflow is over, as it is if all went well.
		_ = t.client.TerminateWorkflow(ctx, t.execution.GetID(), "", "the test is over")
	})
}

// end lets the row's workflow end.
func (t *trial) end() {
	t.Helper()
	if err := t.client.SignalWorkflow(t.ctx, t.execution.GetID(), "", "end", nil); err != nil {
		t.Fatal(err)
	}
	if err := t.execution.Get(t.ctx, nil); err != nil {
		t.Fatal(err)
	}
}

// use makes the workflow use a block, and returns once it has begun to.
func (t *trial) use(block string, heartbeat time.Duration) client.WorkflowUpdateHandle {
	t.Helper()
	handle, err := t.client.UpdateWorkflow(t.ctx, client.UpdateWorkflowOptions{
		WorkflowID: t.execution.GetID(), UpdateName: "use", WaitForStage: client.WorkflowUpdateStageAccepted,
		Args: []any{using{Block: block, TaskQueue: t.TaskQueue, Heartbeat: heartbeat, Call: t.callOf(block)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return handle
}

// callOf names the call of a block: no other call of any row is called so.
func (t *trial) callOf(block string) string { return t.TaskQueue + "/" + block }

func (t *trial) seen(use client.WorkflowUpdateHandle) *seen {
	t.Helper()
	var s seen
	if err := use.Get(t.ctx, &s); err != nil {
		t.Fatalf("the workflow did not use its block in time: %v", err)
	}
	return &s
}

// startSecond starts a host that serves as it should, in this process.
func (t *trial) startSecond() {
	t.Helper()
	h := t.hosting
	h.Name, h.Crash, h.ServerHold, h.ServerFail = secondHost, point{}, "", ""
	w, err := h.worker(t.client, &crash{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
}

// checkSeen checks what the workflow saw of the block that was hit.
func (t *trial) checkSeen(s *seen) {
	t.Helper()
	if got := s.String(); !strings.HasPrefix(got, t.sees+"; ") {
		t.Fatalf("the workflow saw %s, want %s", got, t.sees)
	}
	switch t.sees {
	case seesAtOpen:
		t.checkLoss("Open", s.Open, failure.TypeOpen, failure.RanNo)
	case seesInCall:
		t.checkLoss("the call", s.Call, failure.TypeDedicatedWorker, failure.RanUnknown)
		t.checkLoss("the call after the loss", s.Later, failure.TypeDedicatedWorker, failure.RanNo)
		t.checkLoss("Close", s.Close, failure.TypeDedicatedWorker, "")
	case seesInClose:
		t.checkLoss("Close", s.Close, failure.TypeDedicatedWorker, "")
	}
	if (t.sees == seesInClose || t.sees == seesNothing) && s.Call.Text != "1" {
		t.Errorf("the call returned %q", s.Call.Text)
	}
}

// checkLoss checks that a step failed by the loss of the first host's session.
func (t *trial) checkLoss(what string, o *outcome, kind string, ran failure.ToolRan) {
	t.Helper()
	d := o.Details
	if o.Type != kind || !o.Lost || d.Reason != failure.ReasonHostLost || d.Host != firstHost || d.Attempt != 1 || d.OpenedAt.IsZero() ||
		ran != "" && (d.ToolRan != ran || o.Ran != ran) {
		t.Errorf("%s: %+v, want a %s of attempt 1 on the first host, tool ran %q", what, *o, kind, ran)
	}
}

// checkSessions checks the session activities of the block that was hit, and what
// their attempts on the second host found.
func (t *trial) checkSessions() {
	t.Helper()
	got := t.awaitSessions()
	t.done("its session activities had ended")
	want, found := t.expected(t.policy)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the session activities of the block were %s, want %s", describeAll(got), describeAll(want))
	}
	if got := t.noted(noteFound, secondHost); !slices.Equal(got, found) {
		t.Errorf("attempts on the second host found %q, want %q", got, found)
	}
}

// checkAnew opens another block, as only the workflow may, which begins anew.
func (t *trial) checkAnew() {
	t.Helper()
	anew := t.seen(t.use(blockAnew, anewHeartbeat))
	t.done("a new block was closed")
	if got := anew.String(); !strings.HasPrefix(got, seesNothing+"; ") || anew.Call.Text != "1" {
		t.Errorf("of a new block the workflow saw: %s", got)
	}
	t.checkKept(blockAnew, 0)
}

// checkNotes checks how often the connector, the handshake and the tool of the
// block that was hit have run.
func (t *trial) checkNotes() {
	t.Helper()
	for event, want := range map[string]int{noteConnector: t.connectors, noteInitialize: t.handshakes, noteCall: t.tools} {
		if got := len(t.noted(event, "")); got != want {
			t.Errorf("%s: %d times, want %d, in:\n%s", event, got, want, strings.Join(fixture.Lines(t.Notes), "\n"))
		}
	}
}

// noted returns the notes of an event of the block that was hit, or what of them
// follows the name of who has noted it.
func (t *trial) noted(event, by string) (notes []string) {
	for _, note := range fixture.Lines(t.Notes) {
		if rest, ok := strings.CutPrefix(note, strings.TrimSpace(event+" "+blockHit+" "+by)+" "); ok {
			notes = append(notes, rest)
		}
	}
	return notes
}

// checkKept checks how many sessions of a block the server over HTTP has.
func (t *trial) checkKept(block string, want int) {
	t.Helper()
	if t.transport != overHTTP {
		return
	}
	request, err := http.NewRequestWithContext(t.ctx, http.MethodGet, t.site+sessionsPath+"?"+serving{Notes: t.Notes, Block: block}.encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != fmt.Sprint(want) {
		t.Errorf("the server over HTTP keeps %s sessions of the block %q, want %d", got, block, want)
	}
}

// awaitNoProcess returns once no process of the row is left.
func (t *trial) awaitNoProcess(when string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for len(fixture.OwnedBy(t.Owner)) > 0 {
		if time.Now().After(deadline) {
			left := fixture.OwnedBy(t.Owner)
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			t.Fatalf("processes are left %s: %v", when, left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func describeAll(sessions []*sessionActivity) string {
	var all []string
	for _, s := range sessions {
		all = append(all, fmt.Sprintf("%+v", *s))
	}
	return strings.Join(slices.Concat([]string{"["}, all, []string{"]"}), " ")
}
