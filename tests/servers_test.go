package tests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// inMemory is an MCP server in this process; each session calls newServer.
func inMemory(name string, newServer func() *mcp.Server) session.Server {
	return session.Server{
		Name:    name,
		Connect: transport.InMemory(func(transport.Argument) *mcp.Server { return newServer() }),
	}
}

// serverOf returns an MCP server with one tool.
func serverOf(tool string, handler mcp.ToolHandler) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: tool, InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
	return s
}

// texts is a tool's result that has one text.
func texts(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// Roles that this binary plays as the program of a broken server. What they say
// of themselves goes to the file that roleFile names.
const roleFile = "MCPSESSION_TEST_FILE"

var brokenRoles = map[string]func(){
	// exits is a program that refuses its arguments.
	"exits": func() {
		fmt.Fprintln(os.Stderr, "unknown option --stdio")
		os.Exit(3)
	},
	// silent reads and never answers.
	"silent": func() { _, _ = io.Copy(io.Discard, os.Stdin) },
	// garbage greets its user and ends when it is told to.
	"garbage": func() {
		fmt.Println("Welcome! Type help for help.\n> {not json\n[]")
		_, _ = io.Copy(io.Discard, os.Stdin)
	},
	// chatter greets, asks for a name, and leaves.
	"chatter": func() {
		fmt.Println("What is your name?")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Println("Goodbye.")
	},
}

func init() {
	for name, role := range brokenRoles {
		brokenRoles[name] = func() {
			if file := os.Getenv(roleFile); file != "" {
				if err := fixture.AppendLine(file, fmt.Sprint(os.Getpid())); err != nil {
					panic(err)
				}
			}
			role()
		}
	}
}

// notes returns the lines of a file; none when there is no file.
func notes(file string) []string {
	content, _ := os.ReadFile(file)
	return strings.Fields(string(content))
}

// command is this binary in a role, as the program of an MCP server. It notes
// its process id in the file.
func command(name, role, file string) session.Server {
	return session.Server{
		Name: name,
		Connect: transport.CommandWithOptions(transport.CommandOptions{
			Env:    append(fixture.Environ(role, ""), roleFile+"="+file),
			Logger: slog.New(slog.DiscardHandler),
		}, os.Args[0]),
	}
}

// A wire answers a request, by its method, with the bytes of a result. It has no
// MCP SDK in it, so what a test compares with is not the SDK's own work. Where it
// returns nothing, the answer is a plain one; what begins with "error": is the
// member of that name.
type wire func(method string, params json.RawMessage) string

// connector serves the wire over a pipe to each session. Its transport is one
// that package transport does not know.
func (w wire) connector(context.Context, transport.Argument) (mcp.Transport, error) {
	return w.transport(), nil
}

func (w wire) transport() mcp.Transport {
	requests, toServer := io.Pipe()
	fromServer, replies := io.Pipe()
	go func() {
		defer replies.Close()
		lines := bufio.NewReader(requests)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			message, err := jsonrpc.DecodeMessage(line)
			request, ok := message.(*jsonrpc.Request)
			if err != nil || !ok || !request.IsCall() {
				continue
			}
			id, err := json.Marshal(request.ID.Raw())
			if err != nil {
				return
			}
			fmt.Fprintf(replies, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", id, w.answer(request))
		}
	}()
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer, MaxLineLength: -1}
}

// answer returns the member of the response that is not its id.
func (w wire) answer(request *jsonrpc.Request) string {
	answer := w(request.Method, request.Params)
	switch {
	case strings.HasPrefix(answer, `"error":`):
		return answer
	case answer != "":
		return `"result":` + answer
	case request.Method == "initialize":
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"wire","version":"1"}}`
	}
	return `"result":{}`
}

// returning is a wire whose tools all return one result.
func returning(t *testing.T, result string) wire {
	line := compact(t, result)
	return func(method string, _ json.RawMessage) string {
		if method == "tools/call" {
			return line
		}
		return ""
	}
}

// direct returns a session of a wire that an MCP client of the SDK holds, without
// anything of ours between them.
func (w wire) direct(t *testing.T) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "direct", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), w.transport(), &mcp.ClientSessionOptions{ProtocolVersion: session.DefaultProtocolVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// compact returns JSON on one line, as the wire needs it.
func compact(t *testing.T, text string) string {
	t.Helper()
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return line.String()
}
