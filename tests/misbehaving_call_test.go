package tests

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// answer is a line that answers the call with the member.
func answer(member string) fixture.Act {
	return fixture.Act{Say: `{"jsonrpc":"2.0","id":$id,` + member + "}\n"}
}

const fine = `"result":{"content":[{"type":"text","text":"fine"}]}`

// askingFirst is a server that asks its client for something before it answers, and then
// answers with what it got.
func askingFirst(method, params string, want ...string) misbehaviour {
	return misbehaviour{
		acts:  []fixture.Act{{Say: `{"jsonrpc":"2.0","id":"q","method":"` + method + `","params":` + params + "}\n"}},
		other: map[string][]fixture.Act{fixture.Answer: {answer(`"result":{"content":[{"type":"text","text":$said}]}`)}},
		want:  outcome{words: append(want, `"id":"q"`)},
	}
}

// A misbehaviour in a call, and what it comes to.
type misbehaviour struct {
	acts  []fixture.Act
	other map[string][]fixture.Act // at other messages
	want  outcome
	next  failure.ToolRan // what the next call says of its tool, if the session is lost
	stuck bool            // the session lives, and nobody answers in it
}

// A server that misbehaves in a call: that call has one right outcome, said to the
// workflow, and the session either lives, so that the next call works, or is lost,
// so that the next call is not even scheduled. It is never opened anew.
func TestServerMisbehavesInACall(t *testing.T) {
	t.Parallel()
	one := func(acts ...fixture.Act) []fixture.Act { return acts }
	good := fixture.Act{Say: "$good"}
	oneLine := strings.TrimSuffix(answer(fine).Say, "\n")
	for name, test := range map[string]misbehaviour{
		// What is no message is skipped, and costs nothing but time.
		"floods stdout with text, then answers":     {acts: one(fixture.Act{Say: "noise\n", Times: 100_000}, good), want: result("fine")},
		"floods stderr with 100 MB, then answers":   {acts: one(fixture.Act{Mutter: "$fill\n", Fill: 1000, Times: 100_000}, good), want: result("fine")},
		"a line of 30 MB of text, then answers":     {acts: one(fixture.Act{Say: "$fill\n", Fill: 30 << 20}, good), want: result("fine")},
		"JSON that is no JSON-RPC, then answers":    {acts: one(fixture.Act{Say: `{"level":30}` + "\n[1]\n[]\n{}\n5\n"}, good), want: result("fine")},
		"two messages on one line, then answers":    {acts: one(fixture.Act{Say: oneLine + " " + oneLine + "\n"}, good), want: result("fine")},
		"an answer with text behind it, then again": {acts: one(fixture.Act{Say: oneLine + "}\n"}, good), want: result("fine")},
		"answers a request that was never made":     {acts: one(fixture.Act{Say: `{"jsonrpc":"2.0","id":4711,"result":5}` + "\n"}, good), want: result("fine")},
		"notices that nobody knows":                 {acts: one(fixture.Act{Say: `{"jsonrpc":"2.0","method":"notifications/no/such","params":5}` + "\n", Times: 1000}, good), want: result("fine")},
		"notices of the wrong shape":                {acts: one(fixture.Act{Say: `{"jsonrpc":"2.0","method":"notifications/progress","params":"x"}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":[]}` + "\n"}, good), want: result("fine")},
		"a batch of notices and the answer":         {acts: one(fixture.Act{Say: `[{"jsonrpc":"2.0","method":"notifications/a"},{"jsonrpc":"2.0","method":"notifications/b"},` + oneLine + "]\n"}), want: result("fine")},
		"answers twice":                             {acts: one(good, good), want: result("fine")},
		"text without an end":                       {acts: one(fixture.Act{Say: "$fill", Fill: 1 << 16, Times: -1}), want: timedOut, stuck: true},
		"never answers":                             {acts: one(), want: timedOut},
		"answers with a wrong id":                   {acts: one(fixture.Act{Say: `{"jsonrpc":"2.0","id":4711,` + fine + "}\n"}), want: timedOut},
		"answers with an id of the wrong type":      {acts: one(fixture.Act{Say: `{"jsonrpc":"2.0","id":"$id",` + fine + "}\n"}), want: timedOut},
		"answers with an id of null":                {acts: one(fixture.Act{Say: `{"jsonrpc":"2.0","id":null,` + fine + "}\n"}), want: timedOut},
		"answers in another version of JSON-RPC":    {acts: one(fixture.Act{Say: `{"jsonrpc":"1.0","id":$id,` + fine + "}\n"}), want: timedOut},
		"an error that is a text":                   {acts: one(answer(`"error":"no"`)), want: timedOut},
		"neither a result nor an error":             {acts: one(fixture.Act{Say: `{"jsonrpc":"2.0","id":$id}` + "\n"}), want: unanswered()},
		"a result of null, which the SDK lets pass": {acts: one(answer(`"result":null`)), want: result("")},
		"a result and an error":                     {acts: one(answer(fine + `,"error":{"code":7,"message":"both"}`)), want: outcome{typ: failure.TypeMCPProtocol, words: []string{"error 7", "both"}}},
		"an error without a code":                   {acts: one(answer(`"error":{"message":"no code"}`)), want: outcome{typ: failure.TypeMCPProtocol, words: []string{"error 0", "no code"}}},
		"answers, then closes its stdin":            {acts: one(good, fixture.Act{Close: "stdin", Hang: true}), want: result("fine"), next: failure.RanUnknown},
		"answers, then exits":                       {acts: one(good, fixture.Act{Mutter: "bye\n", Exit: exit(4)}), want: result("fine"), next: failure.RanNo},
		"a result of 30 MB":                         {acts: one(fixture.Act{Say: answer(`"result":{"content":[{"type":"text","text":"$fill"}]}`).Say, Fill: 30 << 20}), want: lost("sent a message of more than 16777216 bytes", "MaxMessage"), next: failure.RanNo},
		"a message without an end":                  {acts: one(fixture.Act{Say: `{"x":"`}, fixture.Act{Say: "$fill", Fill: 1 << 16, Times: -1}), want: lost("sent a message of more than 16777216 bytes", "MaxMessage"), next: failure.RanNo},
		"exits in the middle of its answer":         {acts: one(fixture.Act{Say: `{"jsonrpc":"2.0","id":$id,"re`, Mutter: "killed by a bug\n", Exit: exit(4)}), want: lost("exited with status 4", "killed by a bug"), next: failure.RanNo},
		"exits with the answer's line not ended":    {acts: one(fixture.Act{Say: oneLine, Exit: exit(4)}), want: result("fine"), next: failure.RanNo},
		"closes its stdout and lives on":            {acts: one(fixture.Act{Close: "stdout", Hang: true}), want: lost("closed its stdout and did not exit within 1s", "killed"), next: failure.RanNo},
		"asks for sampling":                         askingFirst("sampling/createMessage", `{"messages":[],"maxTokens":1}`, `"error"`),
		"asks for roots":                            askingFirst("roots/list", `{}`),
		"asks for a form":                           askingFirst("elicitation/create", `{"message":"?","requestedSchema":{"type":"object","properties":{}}}`, `"error"`),
		"asks for a page to be opened":              askingFirst("elicitation/create", `{"mode":"url","message":"?","url":"http://server.test","elicitationId":"1"}`, `"error"`),
		"asks for what nobody knows":                askingFirst("no/such", `{}`, `"error"`, "-32601"),
		"asks with the id of the call":              {acts: one(fixture.Act{Say: `{"jsonrpc":"2.0","id":$id,"method":"ping"}` + "\n"}, good), other: map[string][]fixture.Act{fixture.Answer: {}}, want: result("fine")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := at(misbehaves, test.acts...)
			for key, acts := range test.other {
				script.On[key] = acts
			}
			var timeout time.Duration
			if test.want.why == failure.ReasonCallTimeout {
				timeout = shortCall
			}
			d := setupScript(t, script, 0, timeout)
			block := d.open()
			text, err := block.call(misbehaves, nil)
			test.want.check(t, text, err)
			switch {
			case test.next == failure.RanUnknown:
				_, err := block.call("fine", nil)
				d.wantLoss(err, failure.ReasonServerGone, failure.RanUnknown)
			case test.next == failure.RanNo:
				d.awaitSessionEnd(d.run)
				d.wantLoss(block.callUnscheduled(), failure.ReasonServerGone, failure.RanNo)
			case test.stuck:
			default:
				if text := block.must("fine"); text != "fine" {
					t.Errorf("the next call returned %q", text)
				}
			}
			if err := block.close(); (test.next != "") == (err == nil) {
				t.Errorf("close: %v", err)
			}
			d.wantConnects("here")
		})
	}
}
