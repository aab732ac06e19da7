package http_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	notes "github.com/mcpsession/mcpsession/examples/http"
	"github.com/mcpsession/mcpsession/examples/internal/program"
	"github.com/mcpsession/mcpsession/examples/internal/testserver"
	"github.com/mcpsession/mcpsession/failure"
)

// testTimeout bounds every wait of a test.
const testTimeout = 2 * time.Minute

// The programs do what the package comment says.
func TestPrograms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	starter := b.program("starter", "-task-queue", b.taskQueue)
	if err := starter.Wait(); err != nil {
		t.Errorf("starter: %v", err)
	}
	if want := "the notebook has: [tea biscuits]"; !strings.Contains(starter.Output(), want) {
		t.Errorf("the starter does not say %q", want)
	}
}

// A token that is changed between two blocks is used from the second on, without a
// new worker. A wrong one is told by its reason. None is ever repeated: not in
// history, not in a heartbeat, a result or a failure, and not in what the worker
// writes, though the server repeats in its error what it was sent (C11).
func TestToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var told strings.Builder

	first := b.start()
	b.note(first, "tea")
	fmt.Fprintln(&told, b.heartbeat(first))
	b.note(first, "")
	b.wantNotes(first, "tea")
	fmt.Fprintln(&told, b.history(first))

	b.write(b.serverToken, secondToken)
	b.write(b.workerToken, secondToken)
	second := b.start()
	b.note(second, "biscuits")
	b.note(second, "")
	b.wantNotes(second, "biscuits") // of its own session: not the tea
	fmt.Fprintln(&told, b.history(second))

	b.write(b.workerToken, wrongToken)
	third := b.start()
	err := third.Get(b.ctx, nil)
	if open, ok := failure.Open(err); !ok || open.Reason != failure.ReasonUnauthorized || open.ToolRan != failure.RanNo {
		t.Errorf("error %v, want an %s of reason %s", err, failure.TypeOpen, failure.ReasonUnauthorized)
	}
	fmt.Fprintln(&told, err, b.history(third))

	b.worker.Stop()
	fmt.Fprintln(&told, b.worker.Output())
	// That the places were looked into which matter.
	for _, part := range []string{"mcp-session-opened", "add_note", "biscuits", "is not allowed here", "Started Worker"} {
		if !strings.Contains(told.String(), part) {
			t.Errorf("what was told does not have %q", part)
		}
	}
	for _, token := range []string{firstToken, secondToken, wrongToken} {
		if before, after, ok := strings.Cut(told.String(), token); ok {
			t.Errorf("what was told has a token: …%q[here]%q…", before[max(0, len(before)-200):], after[:min(200, len(after))])
		}
	}
}

const (
	firstToken  = "canary-one-that-nobody-may-see"
	secondToken = "canary-two-that-nobody-may-see"
	wrongToken  = "canary-three-that-is-wrong"
)

// A bundle is what a test has to itself: the programs, a task queue, and the files
// with the token that the two sides have.
type bundle struct {
	*testing.T
	ctx                      context.Context
	client                   client.Client
	taskQueue                string
	serverToken, workerToken string
	worker                   *program.Program
}

func setup(t *testing.T) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	c := server.Dial(ctx, t)
	b := &bundle{
		T: t, ctx: ctx, client: c,
		taskQueue:   testserver.TaskQueue(t),
		serverToken: filepath.Join(t.TempDir(), "token"),
		workerToken: filepath.Join(t.TempDir(), "token"),
	}
	b.write(b.serverToken, firstToken)
	b.write(b.workerToken, firstToken)
	notebook := b.program("server", "-address", "127.0.0.1:0", "-token-file", b.serverToken)
	url := notebook.AwaitOutput(regexp.MustCompile(`listening on (\S+)`))
	b.worker = b.program("worker", "-task-queue", b.taskQueue, "-url", url, "-token-file", b.workerToken)
	return b
}

func (b *bundle) program(name string, arguments ...string) *program.Program {
	b.Helper()
	return program.Start(b.ctx, b, filepath.Join(server.Programs, name), server.Environ(), arguments...)
}

func (b *bundle) write(file, token string) {
	b.Helper()
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) start() client.WorkflowRun {
	b.Helper()
	run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{
		TaskQueue:                b.taskQueue,
		WorkflowExecutionTimeout: testTimeout, // leaves nothing on a server that goes on
	}, notes.KeepNotes)
	if err != nil {
		b.Fatal(err)
	}
	return run
}

func (b *bundle) note(run client.WorkflowRun, note string) {
	b.Helper()
	if err := b.client.SignalWorkflow(b.ctx, run.GetID(), run.GetRunID(), notes.NoteSignal, note); err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) wantNotes(run client.WorkflowRun, want ...string) {
	b.Helper()
	var written []string
	if err := run.Get(b.ctx, &written); err != nil {
		b.Fatal(err)
	}
	if !slices.Equal(written, want) {
		b.Errorf("the notebook has %q, want %q", written, want)
	}
}

// heartbeat returns what the server shows of the session activity of a run, once
// the session is open.
func (b *bundle) heartbeat(run client.WorkflowRun) string {
	b.Helper()
	for {
		described, err := b.client.DescribeWorkflow(b.ctx, run.GetID(), run.GetRunID())
		if err != nil {
			b.Fatal(err)
		}
		shown := b.text(described.RawResponse)
		if strings.Contains(shown, "mcp-session-opened") {
			return shown
		}
		select {
		case <-b.ctx.Done():
			b.Fatalf("no session is open: %q", shown)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// history returns all of a run's history.
func (b *bundle) history(run client.WorkflowRun) string {
	b.Helper()
	var history historypb.History
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		history.Events = append(history.Events, event)
	}
	return b.text(&history)
}

// text returns a message as it is on the wire, where texts and payloads are verbatim:
// as JSON, payloads would be base64, in which nothing is found.
func (b *bundle) text(message proto.Message) string {
	b.Helper()
	text, err := proto.Marshal(message)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}
