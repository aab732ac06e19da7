package warm

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A serving is what an MCP server's process is told.
type serving struct {
	Notes string // the file to which it notes its life, a line each: "start 123", "ready 123"

	// Its start, between the two:
	Sleep     time.Duration
	FailUntil string // it exits with status 1 until there is this file
	HangOnce  string // it hangs, unless there is this file, which it then makes

	Secret string // only there to be told
}

const servingVariable = "MCPSESSION_WARM_SERVING"

func (s serving) environ(owner string) []string {
	told, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return append(fixture.Environ(roleMCP, owner), servingVariable+"="+string(told))
}

// connector runs the server.
func (s serving) connector(owner string) transport.Connector {
	return transport.CommandWithOptions(s.options(owner), os.Args[0])
}

// wrapped runs it below a shell that does not pass on its end, as package runners do.
func (s serving) wrapped(owner string) transport.Connector {
	return transport.CommandWithOptions(s.options(owner), "/bin/sh", "-c", `exec 3<&0; "$0" <&3 & wait`, os.Args[0])
}

// discarding is one for all, since a logger is part of what is specified.
var discarding = slog.New(slog.DiscardHandler)

func (s serving) options(owner string) transport.CommandOptions {
	return transport.CommandOptions{Env: s.environ(owner), Logger: discarding}
}

func (s serving) note(event string) {
	if err := fixture.AppendLine(s.Notes, fmt.Sprintf("%s %d", event, os.Getpid())); err != nil {
		panic(err)
	}
}

// serveStdio is the MCP server's process.
func serveStdio() {
	var told serving
	if err := json.Unmarshal([]byte(os.Getenv(servingVariable)), &told); err != nil {
		panic(err)
	}
	told.note("start")
	if told.FailUntil != "" && !exists(told.FailUntil) {
		os.Exit(1)
	}
	if told.HangOnce != "" && !exists(told.HangOnce) {
		if err := fixture.AppendLine(told.HangOnce, "hung"); err != nil {
			panic(err)
		}
		told.Sleep = time.Hour
	}
	time.Sleep(told.Sleep)
	s := fixture.New()
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if method == "notifications/initialized" {
				told.note("ready")
			}
			return next(ctx, method, request)
		}
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// server is what is told to a server of the test's.
func (b *bundle) serving() serving { return serving{Notes: b.File("notes")} }

// warmed is a server that keeps n sessions warm.
func (b *bundle) warmed(n int, s serving) session.Server {
	return session.Server{Name: "server", Connect: s.connector(b.TaskQueue), Warm: n}
}

// noted returns the processes that have noted an event, in order.
func (b *bundle) noted(event string) (pids []int) {
	for _, line := range fixture.Lines(b.File("notes")) {
		if rest, ok := strings.CutPrefix(line, event+" "); ok {
			var pid int
			if _, err := fmt.Sscan(rest, &pid); err != nil {
				b.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitReady returns the first n processes that came to be ready, once there are so
// many.
func (b *bundle) awaitReady(n int) []int {
	b.Helper()
	b.Eventually(fmt.Sprint(n, " servers are ready"), func() bool { return len(b.noted("ready")) >= n })
	return b.noted("ready")[:n]
}
