//go:build unix

package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/transport"
)

// The tests' processes are this test binary once more, in one of these roles.
const (
	roleVariable     = "TRANSPORT_TEST_ROLE"
	switchesVariable = "TRANSPORT_TEST_SWITCHES"

	brokenVariable = "TRANSPORT_TEST_BROKEN" // a program that can't be its own supervisor

	roleServer     = "server"     // an MCP server on stdio
	roleGrandchild = "grandchild" // what a server starts
	roleHost       = "host"       // a worker with one session
)

func TestMain(m *testing.M) {
	supervisor := os.Getenv(transport.LifelineVariable) != ""
	switch role := os.Getenv(roleVariable); {
	case supervisor && os.Getenv(brokenVariable) != "":
		fmt.Fprintln(os.Stderr, "init: API_KEY is not set")
		os.Exit(1)
	case supervisor:
		transport.Lifeline() // does not return
	case role == roleServer:
		runServer(readSwitches())
	case role == roleGrandchild:
		runGrandchild()
	case role == roleHost:
		runHost(readSwitches())
	default:
		goleak.VerifyTestMain(m)
	}
}

// lifetime ends what a failed test has left behind.
const lifetime = 5 * time.Minute

// patience is how long a test waits for what must happen. Only a failure takes
// so long.
const patience = 60 * time.Second

// Switches tell a server or a host what to do.
type switches struct {
	// Started is a file to which the server appends its process id as a line.
	Started string
	// Gate is a file for which the server waits before it answers.
	Gate string

	StdoutGreeting, StderrGreeting string
	IgnoreEOF, IgnoreTERM          bool
	// Grandchild is the kind that the server starts: see startGrandchild.
	Grandchild string

	// Lifeline makes a host call transport.Lifeline.
	Lifeline bool
}

func (s switches) environment(role string) []string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return []string{
		roleVariable + "=" + role,
		switchesVariable + "=" + string(data),
		"GORACE=atexit_sleep_ms=0", // with the race detector, an exit would take a second
	}
}

func readSwitches() (s switches) {
	if err := json.Unmarshal([]byte(os.Getenv(switchesVariable)), &s); err != nil {
		panic(err)
	}
	return s
}

// executable is the path of this test binary.
func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// quiet is a logger for servers whose words don't matter to a test.
var quiet = slog.New(slog.DiscardHandler)

// stdioServer returns a connector for this test binary as a server. Options may
// have an Env of their own.
func stdioServer(t *testing.T, s switches, options transport.CommandOptions) transport.Connector {
	t.Helper()
	options.Env = append(s.environment(roleServer), options.Env...)
	if options.Logger == nil {
		options.Logger = quiet
	}
	return transport.CommandWithOptions(options, executable(t), "-of-no-meaning")
}

// watched calls the connector.
func watched(t *testing.T, connector transport.Connector) transport.Watched {
	t.Helper()
	made, err := connector(t.Context(), nil)
	if err != nil {
		t.Fatalf("connector: %v", err)
	}
	server := made.(transport.Watched)
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// open opens a session over a new transport of the connector.
func open(t *testing.T, connector transport.Connector) (*mcp.ClientSession, transport.Watched) {
	t.Helper()
	server := watched(t, connector)
	session, err := connect(t.Context(), server)
	if err != nil {
		t.Fatalf("connect: %v; the cause: %v", err, server.Cause())
	}
	return session, server
}

func connect(ctx context.Context, over mcp.Transport) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "transport_test", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return client.Connect(ctx, over, nil)
}

// call calls a tool of a server and decodes its result into out.
func call(ctx context.Context, session *mcp.ClientSession, tool string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return err
	}
	if err := result.GetError(); err != nil {
		return err
	}
	data, err := json.Marshal(result.StructuredContent)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(data, out)
}

func mustCall[Out any](t *testing.T, session *mcp.ClientSession, tool string, in any) (out Out) {
	t.Helper()
	if err := call(t.Context(), session, tool, in, &out); err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return out
}

// awaitGone waits for the server's end and returns the text of its cause, which
// must not be nil.
func awaitGone(t *testing.T, server transport.Watched) string {
	t.Helper()
	receive(t, "the close of Gone", server.Gone())
	if server.Cause() == nil {
		t.Fatal("the server is gone without a cause")
	}
	return server.Cause().Error()
}

func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("%s is missing after %v", what, patience)
		panic("unreachable")
	}
}

// until tries a condition again and again.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(patience); !condition(); <-poll.C {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it is not so that %s", patience, what)
		}
	}
}

// awaitEnd waits until no process with one of the ids is left.
func awaitEnd(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		t.Cleanup(func() {
			if t.Failed() {
				killNow(pid)
			}
		})
	}
	for _, pid := range pids {
		until(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !alive(pid) })
	}
}

// alive tells whether a process runs. One that has ended and waits for its
// parent to notice does not.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	if fields := statOf(pid); len(fields) > 0 {
		return fields[0] != "Z" && fields[0] != "X"
	}
	_, err := os.Stat("/proc/self/stat")
	return err != nil // without /proc, the signal's word counts
}

// sleepOut stands for a process that does not end by itself.
func sleepOut() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	select {
	case <-signals:
	case <-time.After(lifetime):
	}
}

// lifelines are the ways to start servers that this system has: each changes a
// connector.
func lifelines() map[string]func(transport.Connector) transport.Connector {
	ways := map[string]func(transport.Connector) transport.Connector{
		"direct": func(connector transport.Connector) transport.Connector { return connector },
	}
	if runtime.GOOS == "linux" {
		ways["lifeline"] = transport.WithLifeline
	}
	return ways
}

func request(t *testing.T, id float64, method string) *jsonrpc.Request {
	t.Helper()
	made, err := jsonrpc.MakeID(id)
	if err != nil {
		t.Fatal(err)
	}
	return &jsonrpc.Request{ID: made, Method: method, Params: []byte("{}")}
}

// parentOf returns the id of a process's parent.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	fields := statOf(pid)
	if len(fields) < 2 {
		t.Fatalf("process %d has no entry in /proc", pid)
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// statOf returns the fields of /proc/PID/stat from the state on.
func statOf(pid int) []string {
	stat, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

func killNow(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
