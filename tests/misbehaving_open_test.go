package tests

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// shortConnect is the ConnectTimeout where no answer comes.
const shortConnect = 2 * time.Second

// at is a script that does something at one message and behaves besides.
func at(key string, acts ...fixture.Act) fixture.Script {
	return fixture.Script{On: map[string][]fixture.Act{key: acts}}
}

func atInitialize(acts ...fixture.Act) fixture.Script { return at("initialize", acts...) }

// A server that misbehaves before or in the handshake: the block does not open, for
// a reason that names what the server did and quotes what it said, after as many
// attempts as can help; no process of any attempt is left, and no tool has run.
func TestServerMisbehavesInTheHandshake(t *testing.T) {
	t.Parallel()
	hang := fixture.Act{Hang: true}
	for name, test := range map[string]struct {
		script  fixture.Script
		timeout time.Duration
		reason  failure.Reason
		words   []string
		tries   int // of three
	}{
		"exits in the middle of its answer": {
			script: atInitialize(fixture.Act{Say: `{"jsonrpc":"2.0","id":$id,"resu`, Mutter: "out of memory\n", Exit: exit(5)}),
			reason: failure.ReasonConnect, words: []string{"exited with status 5", "out of memory"}, tries: 3,
		},
		"exits with status 0": {
			script: atInitialize(fixture.Act{Exit: exit(0)}),
			reason: failure.ReasonConnect, words: []string{"exited with status 0"}, tries: 3,
		},
		"hangs, and says why on stderr": {
			script:  atInitialize(fixture.Act{Mutter: "waiting for the licence server\n"}, hang),
			timeout: shortConnect, reason: failure.ReasonConnectTimeout,
			words: []string{"ConnectTimeout 2s", "raise Server.ConnectTimeout", `the end of its stderr: "waiting for the licence server"`}, tries: 3,
		},
		"hangs, and says why on stdout": {
			script:  atInitialize(fixture.Act{Say: "Proceed? [y/n]\n"}, hang),
			timeout: shortConnect, reason: failure.ReasonConnectTimeout,
			words: []string{"ConnectTimeout 2s", "no message", "Proceed? [y/n]"}, tries: 3,
		},
		"floods stdout with text": {
			script:  atInitialize(fixture.Act{Say: "noise and more noise\n", Times: -1}),
			timeout: shortConnect, reason: failure.ReasonConnectTimeout, words: []string{"that was no message"}, tries: 3,
		},
		"floods stderr": {
			script:  atInitialize(fixture.Act{Mutter: "retrying\n", Times: -1}),
			timeout: shortConnect, reason: failure.ReasonConnectTimeout, words: []string{"retrying"}, tries: 3,
		},
		"writes a line of text without an end": {
			script:  atInitialize(fixture.Act{Say: "$fill", Fill: 1 << 16, Times: -1}),
			timeout: shortConnect, reason: failure.ReasonConnectTimeout, tries: 3,
		},
		"writes a message without an end": {
			script: atInitialize(fixture.Act{Say: `{"jsonrpc":"`}, fixture.Act{Say: "$fill", Fill: 1 << 16, Times: -1}),
			reason: failure.ReasonConnect, words: []string{"sent a message of more than 16777216 bytes", "MaxMessage"}, tries: 3,
		},
		"writes JSON that is no JSON-RPC": {
			script:  atInitialize(fixture.Act{Say: `{"level":30,"msg":"listening"}` + "\n"}, hang),
			timeout: shortConnect, reason: failure.ReasonConnectTimeout, words: []string{"listening"}, tries: 3,
		},
		"answers another request": {
			script:  atInitialize(fixture.Act{Say: `{"jsonrpc":"2.0","id":77,"result":{}}` + "\n"}, hang),
			timeout: shortConnect, reason: failure.ReasonConnectTimeout, tries: 3,
		},
		"answers without a result": {
			script: atInitialize(fixture.Act{Say: `{"jsonrpc":"2.0","id":$id}` + "\n"}),
			reason: failure.ReasonConnect, tries: 3,
		},
		"answers null": {
			script: atInitialize(fixture.Act{Say: `{"jsonrpc":"2.0","id":$id,"result":null}` + "\n"}),
			reason: failure.ReasonProtocolVersion, tries: 1,
		},
		"refuses without a code": {
			script: atInitialize(fixture.Act{Say: `{"jsonrpc":"2.0","id":$id,"error":{"message":"not today"}}` + "\n"}),
			reason: failure.ReasonConnect, words: []string{"not today"}, tries: 3,
		},
		"closes its stdout and lives on": {
			script: atInitialize(fixture.Act{Close: "stdout", Hang: true}),
			reason: failure.ReasonConnect, words: []string{"closed its stdout and did not exit within 1s"}, tries: 3,
		},
		"answers, closes its stdin and lives on": {
			script: atInitialize(fixture.Act{Close: "stdin"}, fixture.Act{Say: "$good", Hang: true}),
			reason: failure.ReasonConnect, words: []string{"closed its stdin and did not exit within 1s"}, tries: 3,
		},
		"ignores SIGTERM": {
			script:  fixture.Script{IgnoreTERM: true, Start: []fixture.Act{hang}},
			timeout: shortConnect, reason: failure.ReasonConnectTimeout, tries: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setupScript(t, test.script, test.timeout, 0)
			_, err := d.tryOpen()
			if err == nil {
				t.Fatal("the block opened")
			}
			checkOpenFailure(t, faultOf(err), "counter", test.reason, test.words...)
			if n := len(d.connects()); n != test.tries {
				t.Errorf("the connector was called %d times, want %d", n, test.tries)
			}
		})
	}
}

// What a server says before or beside its answer does not keep a block from
// opening: text is skipped, and what it asks is answered or refused.
func TestServerTalksInTheHandshake(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]fixture.Script{
		"a greeting": {Start: []fixture.Act{{Say: "Welcome!\n\n", Mutter: "starting\n"}}},
		"100,000 lines of text": {Start: []fixture.Act{{Say: "noise\n", Times: 50_000}}, On: map[string][]fixture.Act{
			"initialize": {{Say: "noise\n", Times: 50_000}, {Say: "$good"}},
		}},
		"an answer of before": {Start: []fixture.Act{{Say: `{"jsonrpc":"2.0","id":99,"result":{}}` + "\n"}}},
		"requests and notices": atInitialize(fixture.Act{Say: strings.Join([]string{
			`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"jsonrpc":"2.0","id":"b","method":"sampling/createMessage","params":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`, `$good`,
		}, "\n")}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setupScript(t, script, 0, 0)
			block := d.open()
			if text := block.must("fine"); text != "fine" {
				t.Errorf("the tool returned %q", text)
			}
			if err := block.close(); err != nil {
				t.Error(err)
			}
			d.wantConnects("here")
		})
	}
}

// A server that exits once the handshake is done is lost, whoever meets that first:
// the block that opens, or its first call. It is never opened again for it.
func TestServerExitsAfterTheHandshake(t *testing.T) {
	t.Parallel()
	d := setupScript(t, at("notifications/initialized", fixture.Act{Mutter: "config.json: no such file\n", Exit: exit(2)}), 0, 0)
	block, err := d.tryOpen()
	if err == nil {
		_, err = block.call("fine", nil)
	}
	details, ok := failure.DedicatedWorker(err)
	if !ok || details.Reason != failure.ReasonServerGone {
		t.Fatalf("the loss is told by %v", err)
	}
	mentions(t, err.Error(), "exited with status 2", "config.json: no such file")
	d.wantConnects("here")
}
