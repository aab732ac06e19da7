package scripts

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// What a script's end comes to for the workflow, in both places: its own application
// error with type and details, or one that says what is wrong with the script. Each
// has begun once, and its activity was not tried again.
func TestScriptEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		act     act
		options toolset.ScriptOptions
		kind    string
		reason  failure.Reason
		ran     failure.ToolRan
		words   string
		attempt int32 // of a script with its own session; 1 if zero
	}{
		"a plain error":        {act: act{Then: "fail"}, kind: failure.TypeScript, reason: failure.ReasonScriptFailed, ran: failure.RanYes, words: "it failed: the script is not content"},
		"a panic":              {act: act{Then: "panic"}, kind: failure.TypeScript, reason: failure.ReasonScriptPanicked, ran: failure.RanYes, words: `script "act" panicked with a string`},
		"no return":            {act: act{Then: "exit"}, kind: failure.TypeScript, reason: failure.ReasonScriptFailed, ran: failure.RanYes, words: "without returning"},
		"a tool's failure":     {act: act{Then: "tool", Until: fixture.Fail}, kind: failure.TypeTool, ran: failure.RanYes, words: "the tool failed"},
		"a refusal":            {act: act{Then: "tool", Until: fixture.Refuse}, kind: failure.TypeMCPProtocol, ran: failure.RanUnknown, words: "no such thing"},
		"its own timeout":      {act: act{Then: "block"}, options: toolset.ScriptOptions{Timeout: time.Second}, kind: failure.TypeCall, reason: failure.ReasonCallTimeout, ran: failure.RanUnknown, words: `script "act"`},
		"a call's timeout":     {act: act{Then: "block"}, options: toolset.ScriptOptions{CallTimeout: time.Second}, kind: failure.TypeCall, reason: failure.ReasonCallTimeout, ran: failure.RanUnknown, words: "CallTimeout"},
		"over the bound":       {act: act{Then: "big", Bytes: 5000}, options: toolset.ScriptOptions{MaxResult: 4000}, kind: failure.TypeResultTooLarge, ran: failure.RanYes, words: "over the limit of 4000 bytes"},
		"too large":            {act: act{Then: "big", Bytes: 3 << 20}, kind: failure.TypeResultTooLarge, ran: failure.RanYes, words: "payload storage", attempt: 2},
		"an error too large":   {act: act{Then: "fail large", Bytes: 3 << 20}, kind: failure.TypeScript, reason: failure.ReasonScriptFailed, ran: failure.RanYes, words: "left out"},
		"a timeout, unheeded":  {act: act{Then: "ignore"}, options: toolset.ScriptOptions{Timeout: time.Second}, kind: failure.TypeCall, reason: failure.ReasonCallTimeout, ran: failure.RanUnknown, words: "left behind"},
		"a server that is out": {act: act{Then: "exit server"}, kind: failure.TypeCall, reason: failure.ReasonServerGone, ran: failure.RanUnknown, words: "out of paper"},
		"out while it waits":   {act: act{Then: "exit server idly"}, kind: failure.TypeCall, reason: failure.ReasonServerGone, ran: failure.RanUnknown, words: "status 3"},
	} {
		for _, where := range places {
			t.Run(string(where)+", "+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.worker(b.stdio())
				in := b.act(test.act.Then)
				in.Bytes = test.act.Bytes
				if test.act.Until != "" {
					in.Until = test.act.Until
				}
				run := b.run(where, test.options, scriptAct, in)
				s := run.Result()
				kind := test.kind
				if where == inBlock && test.reason == failure.ReasonServerGone {
					kind = failure.TypeDedicatedWorker // the block has lost its session
				}
				if b.want(s, kind, test.reason, test.ran); !strings.Contains(s.Message, test.words) {
					t.Errorf("the failure does not say %q: %s", test.words, s.Message)
				}
				b.wantLines("begun", 1)
				if where == own {
					b.WantAttempts(run, max(test.attempt, 1))
				}
				if test.act.Then == "ignore" {
					b.touch("until")
					b.wantLate(in)
					b.wantLines("began", 0)
				}
				if strings.Contains(s.Message, ".go:") {
					t.Errorf("a stack is in the history: %s", s.Message)
				}
			})
		}
	}
}

// An application error of a script is the workflow's, with its type, its details and
// its word on whether to retry, also from within another error.
func TestApplicationErrors(t *testing.T) {
	t.Parallel()
	for then, retryable := range map[string]bool{"fail typed": true, "fail wrapped": false} {
		for _, where := range places {
			t.Run(string(where)+", "+then, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.worker(b.stdio())
				run := b.run(where, toolset.ScriptOptions{Activity: workflow.ActivityOptions{}}, scriptAct, b.act(then))
				if s := run.Result(); s.Type != "OrderFailure" || s.Number != 7 || s.Word != "seven" || s.Retryable != retryable {
					t.Errorf("the workflow saw %+v", s)
				}
				if b.wantLines("begun", 1); where == own {
					b.WantAttempts(run, 1)
				}
			})
		}
	}
}

// What can't begin, or has no output: the error says why. Where another worker may know
// better, it is asked.
func TestScriptMisfits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script  string
		in      any
		reason  failure.Reason
		ran     failure.ToolRan
		words   []string
		attempt int32
	}{
		"unknown":                     {"nobody-knows", nil, failure.ReasonUnknownScript, failure.RanNo, []string{`"nobody-knows"`, `"count"`, "session.RegisterScript"}, 3},
		"another input":               {scriptCount, []string{"three"}, failure.ReasonBadInput, failure.RanNo, []string{`"count"`, "scripts.counting"}, 1},
		"an input that panics":        {scriptMines, map[string]bool{"In": true}, failure.ReasonBadInput, failure.RanNo, []string{"decoding it panicked with a string"}, 1},
		"an output that panics":       {scriptMines, map[string]bool{"Out": true}, failure.ReasonScriptOutput, failure.RanYes, []string{"encoding what it returned panicked with a string"}, 1},
		"an error that can't be sent": {scriptAct, act{File: os.DevNull, Then: "fail oddly"}, failure.ReasonScriptOutput, failure.RanYes, []string{`"act"`}, 1},
		"a strange output":            {scriptOddOut, nil, failure.ReasonScriptOutput, failure.RanYes, []string{`"odd"`, "func()"}, 1},
	} {
		for _, where := range places {
			t.Run(string(where)+", "+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.worker(b.stdio())
				run := b.run(where, toolset.ScriptOptions{Activity: workflow.ActivityOptions{RetryPolicy: fast}}, test.script, test.in)
				s := run.Result()
				b.want(s, failure.TypeScript, test.reason, test.ran)
				for _, words := range test.words {
					if !strings.Contains(s.Message, words) {
						t.Errorf("the failure does not say %s: %s", words, s.Message)
					}
				}
				if where == own {
					b.WantAttempts(run, test.attempt)
					if connects := len(fixture.Lines(b.File("connects"))); (connects == 0) != (test.ran == failure.RanNo) {
						t.Errorf("it connected %d times", connects)
					}
				}
			})
		}
	}
}

// A session that can't be opened is tried again, three times in all, and the script
// then runs once. One that never can is an OpenFailure, and no script has begun. What no
// retry mends is told at the first.
func TestOpening(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failures int32
		err      error
		attempt  int32
		reason   failure.Reason
	}{
		"at the third attempt": {2, errors.New("not yet"), 3, ""},
		"never":                {1000, errors.New("not yet"), 3, failure.ReasonConnect},
		"for good":             {1000, transport.Permanent("no-license", errors.New("the license is over")), 1, "no-license"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(session.Server{Name: "server", Connect: fixture.Failing(test.failures, test.err, overStdio(b.TaskQueue))})
			run := b.run(own, toolset.ScriptOptions{}, scriptAct, b.act("return"))
			s := run.Result()
			begun := 0
			if test.reason == "" {
				if begun = 1; s.text() != "fine" {
					t.Errorf("the workflow saw %+v", s)
				}
			} else {
				b.want(s, failure.TypeOpen, test.reason, failure.RanNo)
			}
			b.wantLines("begun", begun)
			b.WantAttempts(run, test.attempt)
		})
	}
}

// The workflow's ConnectTimeout is in the place of the server's, be it shorter or
// longer.
func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		servers, own time.Duration
		opens        bool
	}{"shorter": {time.Minute, time.Second, false}, "longer": {time.Second, time.Minute, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			connect := overStdio(b.TaskQueue)
			b.worker(session.Server{Name: "server", ConnectTimeout: test.servers,
				Connect: func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(3 * time.Second):
						return connect(ctx, argument)
					}
				}})
			s := b.run(own, toolset.ScriptOptions{ConnectTimeout: test.own, Activity: workflow.ActivityOptions{RetryPolicy: fast}}, scriptAct, b.act("return")).Result()
			if test.opens {
				if s.text() != "fine" {
					t.Errorf("the workflow saw %+v", s)
				}
				return
			}
			b.want(s, failure.TypeOpen, failure.ReasonConnectTimeout, failure.RanNo)
		})
	}
}
