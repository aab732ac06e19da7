//go:build unix

package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// What stands in a script between one turn of the server and the next.
const turnEnd = "\x1e"

// The ways in which a script's server ends, once it has said everything.
const (
	exitsAtOnce  = iota // with a status of its own
	awaitsEnd           // reads its input to the end, then exits
	closesStdout        // and awaits the end
	closesStdin         // and exits when somebody has met that
	endings
)

// A script is what a server does instead of serving: at its start, and then at
// each message that it gets, it writes the next turn.
type script struct {
	turns  [][]byte
	piece  int // how many bytes it writes at a time; 0 is all
	ending int
	status int
	stderr bool // writes to stderr, too
}

// run plays the script. It goes on to the next turn as well when nobody says
// anything for a moment, and closes spent when it has nothing more to say.
func (s script) run(stdin, stdout, stderr *os.File, spent chan<- struct{}) int {
	got := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		for input := bufio.NewReader(stdin); ; {
			if _, err := input.ReadSlice('\n'); err == bufio.ErrBufferFull {
				continue
			} else if err != nil {
				return
			}
			select {
			case got <- struct{}{}:
			case <-time.After(moment):
			}
		}
	}()
	for i, turn := range s.turns {
		if i > 0 {
			select {
			case <-got:
			case <-over:
			case <-time.After(moment):
			}
		}
		if s.stderr {
			_, _ = stderr.Write(turn)
		}
		for len(turn) > 0 {
			n := len(turn)
			if s.piece > 0 {
				n = min(n, s.piece)
			}
			if _, err := stdout.Write(turn[:n]); err != nil {
				break
			}
			turn = turn[n:]
		}
	}
	switch s.ending {
	case exitsAtOnce:
		close(spent)
		return s.status
	case closesStdout:
		_ = stdout.Close()
	case closesStdin:
		_ = stdin.Close()
		close(spent)
		<-over
		return s.status
	}
	select {
	case <-got: // nobody will answer that
	case <-over:
	case <-time.After(moment):
	}
	close(spent)
	<-over
	return s.status
}

// moment is how long a script waits for a message. It only bounds how long one of
// no sense takes: nothing depends on it.
const moment = 2 * time.Millisecond

// Whatever bytes a server writes, in whatever pieces, and wherever it stops: the
// client's way through transport and MCP SDK, from the handshake through lists and
// calls to Close, neither panics nor hangs, what is told of it is bounded, and it
// leaves nothing behind.
func FuzzServer(f *testing.F) {
	for _, seed := range serverScripts {
		for ending := range endings {
			f.Add([]byte(strings.Join(seed, turnEnd)), uint16(0), uint8(ending), ending == exitsAtOnce)
		}
		f.Add([]byte(strings.Join(seed, turnEnd)), uint16(3), uint8(awaitsEnd), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, piece uint16, how uint8, stderr bool) {
		turns := bytes.Split(text, []byte(turnEnd))
		if len(turns) > 16 || len(text) > 1<<20 || piece > 0 && len(text)/int(piece) > 2000 {
			t.Skip("takes long and shows no more")
		}
		s := script{turns: turns, piece: int(piece), ending: int(how) % endings, status: int(how) / endings, stderr: stderr}
		before := runtime.NumGoroutine()
		bounded(t, func() { s.play(t) })
		if alone() {
			until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
		}
	})
}

// play opens a session on the script and does with it what a session does.
func (s script) play(t *testing.T) {
	const tail, message = 100, 1 << 16
	spent := make(chan struct{})
	server := transport.Raw(
		transport.CommandOptions{Logger: quiet, StderrTail: tail, MaxMessage: message},
		func(stdin, stdout, stderr *os.File) int { return s.run(stdin, stdout, stderr, spent) })
	defer func() {
		_ = server.Close()
		if cause := server.Cause(); cause != nil && len(cause.Error()) > 4*(tail+300)+200 {
			t.Errorf("the cause has %d bytes", len(cause.Error()))
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-spent:
			// Whatever is still on its way gets its chance, and the caller's patience ends.
			time.AfterFunc(moment, cancel)
		case <-ctx.Done():
		}
	}()
	session, err := connectStateful(ctx, server)
	if err != nil {
		return
	}
	useAll(t, ctx, session)
	if err := server.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	receive(t, "the close of Gone", server.Gone())
}

// useAll makes every kind of request, each whatever became of the one before. A
// result is one that can be handed on.
func useAll(t *testing.T, ctx context.Context, session *mcp.ClientSession) {
	wanted := func(result any, err error) {
		if err != nil {
			return
		}
		if _, err := json.Marshal(result); err != nil {
			t.Errorf("%T can't be encoded: %v", result, err)
		}
	}
	list, err := session.ListTools(ctx, &mcp.ListToolsParams{})
	wanted(list, err)
	if err == nil && list.NextCursor != "" {
		wanted(session.ListTools(ctx, &mcp.ListToolsParams{Cursor: list.NextCursor}))
	}
	wanted(session.CallTool(ctx, &mcp.CallToolParams{Name: "t", Arguments: json.RawMessage(`{}`)}))
	wanted(session.ListPrompts(ctx, nil))
	wanted(session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"}))
	wanted(session.ListResources(ctx, nil))
	wanted(session.ListResourceTemplates(ctx, nil))
	wanted(session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "r:"}))
	wanted(nil, session.Ping(ctx, nil))
	wanted(session.CallTool(ctx, &mcp.CallToolParams{Name: "t"}))
	wanted(session.InitializeResult(), nil)
}

// bounded fails the test, with the stacks of all goroutines, if f hangs.
func bounded(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		t.Fatalf("it hangs:\n%s", stacks[:runtime.Stack(stacks, true)])
	}
}

// alone reports whether no other test runs beside this one, as in a fuzzer's
// worker: its goroutines can be counted then.
func alone() bool {
	worker := flag.Lookup("test.fuzzworker")
	return worker != nil && worker.Value.String() == "true"
}
