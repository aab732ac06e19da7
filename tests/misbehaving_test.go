package tests

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// These tests are one table in three parts: what a server over stdio does, when it
// does that, and the one right outcome as a workflow sees it. In the handshake:
// misbehaving_open_test.go. In a call: misbehaving_call_test.go. While nobody calls,
// and at Close: misbehaving_end_test.go.
//
// The rows are what the servers of openfail_test.go, servergone_test.go and
// answers_test.go don't do.

func init() { brokenRoles["script"] = fixture.ServeScript }

// misbehaves is the tool that misbehaves.
const misbehaves = "misbehaves"

// shortCall is how long a call may take to which no answer comes.
const shortCall = 3 * time.Second

func exit(code int) *int { return &code }

// playing is a server over stdio that plays the script.
func (b *bundle) playing(script fixture.Script) transport.Connector {
	return transport.CommandWithOptions(transport.CommandOptions{
		Env:    append(fixture.Environ("script", b.taskQueue), script.Environ()),
		Logger: slog.New(slog.DiscardHandler),
	}, os.Args[0])
}

// setupScript is a driver of blocks on a server that plays the script. A block is
// tried to be opened three times; the timeouts are the defaults where they are zero.
func setupScript(t *testing.T, script fixture.Script, connectTimeout, callTimeout time.Duration) *driver {
	t.Helper()
	b := setupFaults(t)
	s := b.counted(b.playing(script))
	s.ConnectTimeout = connectTimeout
	b.host(worker.Options{}, session.Options{Servers: []session.Server{s}})
	options := b.options(longHeartbeat)
	options.Session.RetryPolicy = attempts(3).RetryPolicy
	if callTimeout > 0 {
		options.ToolTimeouts = map[string]time.Duration{misbehaves: callTimeout}
	}
	return b.drive(options)
}

// An outcome is what a call comes to.
type outcome struct {
	text  string          // of the result, unless words are given
	typ   string          // of the failure
	why   failure.Reason  // its reason
	ran   failure.ToolRan // what it says of the tool
	words []string        // that its message has, or the result's text
}

func result(text string) outcome { return outcome{text: text} }

func lost(words ...string) outcome {
	return outcome{typ: failure.TypeDedicatedWorker, why: failure.ReasonServerGone, ran: failure.RanUnknown, words: words}
}

func unanswered(words ...string) outcome {
	return outcome{typ: failure.TypeCall, why: failure.ReasonNoAnswer, ran: failure.RanUnknown, words: words}
}

var timedOut = outcome{typ: failure.TypeCall, why: failure.ReasonCallTimeout, ran: failure.RanUnknown, words: []string{"CallTimeout"}}

// check fails the test unless a call that returned text and err has this outcome.
func (o outcome) check(t *testing.T, text string, err error) {
	t.Helper()
	switch f := faultOf(err); {
	case o.typ == "" && (err != nil || text != o.text && o.words == nil):
		t.Errorf("the call returned %.100q, %v; want %q", text, err, o.text)
	case o.typ == "":
		mentions(t, text, o.words...)
	case err == nil:
		t.Errorf("the call returned %q; want a %s", text, o.typ)
	default:
		if f.Type != o.typ || f.Details.Reason != o.why || o.ran != "" && f.Ran != o.ran {
			t.Errorf("the call ended with %+v; want a %s, reason %q, tool ran %q", f, o.typ, o.why, o.ran)
		}
		mentions(t, err.Error(), o.words...)
	}
}

// listing reads the tool list in a block on a server that plays the script, and
// returns what came of that and of a call after it.
func listing(t *testing.T, script fixture.Script) (listed, called fault) {
	t.Helper()
	b := setupFaults(t)
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got []fault, err error) {
		ts, err := toolset.Open(ctx, toolset.Options{Server: "counter"})
		if err != nil {
			return nil, err
		}
		_, listed := ts.ListTools(ctx)
		_, called := ts.CallTool(ctx, "fine", nil)
		_ = ts.Close(ctx)
		return []fault{faultOf(listed), faultOf(called)}, await(ctx, nothingOpen)
	}, b.counted(b.playing(script)))
	b.nothingOpen(w)
	var got []fault
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	b.wantConnects("here")
	return got[0], got[1]
}
