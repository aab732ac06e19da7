//go:build unix

package transport_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/mcpsession/mcpsession/transport"
)

// A greeting, a log or a progress bar on stdout is skipped, and what comes after
// it works.
func TestNoiseIsSkipped(t *testing.T) {
	t.Parallel()
	for _, noise := range []string{
		"Server running on stdio\n",
		"\n\r\n   \n",
		"[INFO] starting\n{not JSON}\n[1, 2\n",
		`{"level":30,"msg":"listening"}` + "\n" + `[{"level":30}]` + "\n[]\n{}\n" + `"a string"` + "\n42\n",
		`{"jsonrpc":"1.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"?"}}` + "\n",
		"\x1b[32mready\x1b[0m\r\n\xff\xfe\x00\n",
		strings.Repeat("a long line of no meaning ", 4000) + "\n",
	} {
		t.Run(fmt.Sprintf("%.20q", noise), func(t *testing.T) {
			t.Parallel()
			session, server := open(t, stdioServer(t, switches{StdoutGreeting: noise}, transport.CommandOptions{
				MaxMessage: 50_000, // which holds for messages only
			}))
			for range 3 {
				mustCall[none](t, session, "print", printed{Stdout: noise})
			}
			if got := mustCall[struct{ Count int }](t, session, "incr", nil).Count; got != 1 {
				t.Errorf("after the noise the session counts %d", got)
			}
			if err := server.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// Skipped lines are logged: some of them, in part, and without secrets.
func TestNoiseIsLogged(t *testing.T) {
	t.Parallel()
	var logged recorder
	session, server := open(t, stdioServer(t, switches{}, transport.CommandOptions{
		Logger: logged.logger(),
		Env:    []string{"KEY=the-secret"},
	}))
	line := "the key is the-secret" + strings.Repeat(" and so on", 100) + "\n"
	mustCall[none](t, session, "print", printed{Stdout: strings.Repeat(line, 1000)})
	if err := server.Close(); err != nil {
		t.Errorf("close: %v", err)
	}

	entries := logged.entries(t, "WARN")
	// 16, and then at 32, 64, 128, 256 and 512.
	if len(entries) != 21 {
		t.Fatalf("%d lines were logged", len(entries))
	}
	last := entries[len(entries)-1]
	if last.Command != executable(t) || last.PID == 0 || last.Skipped != 512 ||
		!strings.HasPrefix(last.Line, "the key is [redacted] and so on") || !strings.HasSuffix(last.Line, "…") {
		t.Errorf("the last entry is %+v", last)
	}
	if len(last.Line) > 300 {
		t.Errorf("%d bytes of a line were logged", len(last.Line))
	}
}

// A message over the limit ends the connection, with an error that says so; one
// at the limit arrives.
func TestMaxMessage(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const limit = 200_000
			session, server := open(t, change(stdioServer(t, switches{}, transport.CommandOptions{MaxMessage: limit})))
			mustCall[none](t, session, "print", printed{Huge: limit})

			err := call(t.Context(), session, "print", printed{Huge: limit + 1}, nil)
			const want = "sent a message of more than 200000 bytes; let it send less, or raise CommandOptions.MaxMessage"
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the call failed with %v", err)
			}
			if got := awaitGone(t, server); got != executable(t)+" "+want {
				t.Errorf("the cause is %s", got)
			}
		})
	}
}

// Everything on stderr is logged line by line and kept at the end of the cause,
// both bounded and without the values of the server's variables.
func TestStderr(t *testing.T) {
	t.Setenv("INHERITED", "inherited-secret")
	t.Setenv("HOME", "/home/of-the-worker")
	const lastWords = `[redacted] [redacted] [redacted] abc /home/of-the-worker\n[redacted]\n[redacted]\n[redacted]\nbye`
	var logged recorder
	session, server := open(t, stdioServer(t,
		switches{StderrGreeting: "starting in /home/of-the-worker\r\n"},
		transport.CommandOptions{
			Logger:     logged.logger(),
			StderrTail: len(lastWords), // less than a line more
			InheritEnv: []string{"INHERITED"},
			Env: []string{
				"TOKEN=own-secret", "LONGER=own-secret-and-more", "SHORT=abc",
				"PEM=-----BEGIN-----\nbm90IGEga2V5\n-----END-----",
			},
		}))
	mustCall[none](t, session, "print", printed{Stderr: strings.Repeat("long", 5000) + "\n"})
	_ = call(t.Context(), session, "exit", exitWith{Status: 1, Stderr: "" +
		strings.Repeat("too old for the tail\n", 100) +
		"inherited-secret own-secret own-secret-and-more abc /home/of-the-worker\n" +
		"-----BEGIN-----\nbm90IGEga2V5\n-----END-----\n" +
		"bye"}, nil)

	want := executable(t) + ` exited with status 1; the end of its stderr: "` + lastWords + `"`
	if got := awaitGone(t, server); got != want {
		t.Errorf("the cause is\n\t%s\nnot\n\t%s", got, want)
	}

	entries := logged.entries(t, "INFO")
	if len(entries) != 2+100+5 {
		t.Fatalf("%d lines were logged", len(entries))
	}
	if first := entries[0]; first.Line != "starting in /home/of-the-worker" || first.Command != executable(t) || first.PID == 0 {
		t.Errorf("the first entry is %+v", first)
	}
	if long := entries[1].Line; long != strings.Repeat("long", 1024)+"…" {
		t.Errorf("of the long line %d bytes were logged", len(long))
	}
	for _, secret := range []string{"inherited-secret", "own-secret", "bm90IGEga2V5"} {
		if strings.Contains(logged.String(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
}

// A recorder keeps what is logged, as JSON.
type recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *recorder) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(r, nil)) }

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

type entry struct {
	Level, Command, Line string
	PID, Skipped         int
}

func (r *recorder) entries(t *testing.T, level string) (entries []entry) {
	t.Helper()
	for line := range strings.Lines(r.String()) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Level == level {
			entries = append(entries, e)
		}
	}
	return entries
}
