//go:build unix

package transport_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
	"github.com/mcpsession/mcpsession/transport/transporttest"
)

type (
	none struct{}

	exitWith struct {
		Status int    `json:"status,omitempty"`
		Signal int    `json:"signal,omitempty"`
		Stderr string `json:"stderr,omitempty"`
	}
	printed struct {
		Stdout string `json:"stdout,omitempty"`
		Stderr string `json:"stderr,omitempty"`
		Huge   int    `json:"huge,omitempty"` // a message on stdout of so many bytes
	}
	place struct {
		Environment []string `json:"environment"`
		Directory   string   `json:"directory"`
	}
	kind struct {
		Kind string `json:"kind"`
	}
	tree struct {
		PID        int `json:"pid"`
		Grandchild int `json:"grandchild"`
	}
	stream struct {
		Descriptor int `json:"descriptor"`
	}
)

// runServer is the role of an MCP server: the suite's, with tools that do what
// servers do to their hosts.
func runServer(s switches) {
	if s.IgnoreTERM {
		signal.Ignore(syscall.SIGTERM)
	}
	if s.Started != "" {
		appendLine(s.Started, fmt.Sprint(os.Getpid()))
	}
	fmt.Print(s.StdoutGreeting)
	fmt.Fprint(os.Stderr, s.StderrGreeting)
	now := tree{PID: os.Getpid()}
	if s.Grandchild != "" {
		now.Grandchild = startGrandchild(s.Grandchild)
	}
	if s.Gate != "" {
		awaitFile(s.Gate)
	}

	server := transporttest.NewServer()
	tool(server, "exit", func(in exitWith) none {
		fmt.Fprint(os.Stderr, in.Stderr)
		if in.Signal != 0 {
			_ = syscall.Kill(os.Getpid(), syscall.Signal(in.Signal))
			sleepOut()
		}
		os.Exit(in.Status)
		return none{}
	})
	tool(server, "print", func(in printed) none {
		fmt.Print(in.Stdout)
		fmt.Fprint(os.Stderr, in.Stderr)
		if in.Huge > 0 {
			message := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"`
			fmt.Println(message + strings.Repeat("x", in.Huge-len(message)-len(`"}}`)) + `"}}`)
		}
		return none{}
	})
	tool(server, "place", func(none) place {
		directory, _ := os.Getwd()
		return place{Environment: os.Environ(), Directory: directory}
	})
	tool(server, "start", func(in kind) tree {
		return tree{PID: os.Getpid(), Grandchild: startGrandchild(in.Kind)}
	})
	tool(server, "tree", func(none) tree { return now })
	tool(server, "close", func(in stream) none {
		_ = syscall.Close(in.Descriptor)
		return none{}
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{MaxLineLength: -1})
	if s.IgnoreEOF {
		sleepOut()
	}
}

func tool[In, Out any](server *mcp.Server, name string, run func(In) Out) {
	mcp.AddTool(server, &mcp.Tool{Name: name},
		func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			return nil, run(in), nil
		})
}

// startGrandchild starts a process that ignores the end of its input and
// SIGTERM, and returns its id. Its kind says what else sets it apart: "group"
// nothing, "pipes" that it holds the server's stdout and stderr, "session" that
// it is in a session of its own, "session-pipes" both.
func startGrandchild(kind string) int {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), roleVariable+"="+roleGrandchild)
	if strings.Contains(kind, "pipes") {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: strings.Contains(kind, "session")}
	ready, err := cmd.StdinPipe() // to have it block on something: never closed
	if err != nil {
		panic(err)
	}
	_ = ready
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd.Process.Pid
}

func runGrandchild() {
	signal.Ignore(syscall.SIGTERM)
	sleepOut()
}

// runHost is the role of a worker. It opens a session with a server that the
// same switches describe, writes the ids of the processes to stdout, and never
// closes the session.
func runHost(s switches) {
	if s.Lifeline {
		transport.Lifeline()
	}
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	connector := transport.CommandWithOptions(transport.CommandOptions{
		Env:    s.environment(roleServer),
		Logger: quiet,
	}, path)
	made, err := connector(context.Background(), nil)
	if err != nil {
		panic(err)
	}
	session, err := connect(context.Background(), made)
	if err != nil {
		panic(err)
	}
	var now tree
	if err := call(context.Background(), session, "tree", nil, &now); err != nil {
		panic(err)
	}
	fmt.Println(now.PID, now.Grandchild)
	sleepOut()
}

func awaitFile(path string) {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for range poll.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

func appendLine(path, line string) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := fmt.Fprintln(file, line); err != nil {
		panic(err)
	}
}

// readLines returns the lines of a file, none if it does not exist.
func readLines(path string) (lines []string) {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	return lines
}
