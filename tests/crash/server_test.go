package crash

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/tests/fixture"
)

// What hosts and MCP servers note in the row's file, a line each: the event, the
// block, who notes it, and more.
const (
	noteFound      = "found" // by an attempt of a session activity, with the marker
	noteConnector  = "connector"
	noteInitialize = "initialize"
	noteCall       = "call"
	noteClosing    = "closing"
)

// tool is the server's only tool: it counts the calls of its session.
const tool = "count"

// counting are the tool's arguments.
type counting struct {
	Call string `json:"call"`
}

// A serving is what an MCP server is told by the connector.
type serving struct {
	Notes string
	Block string
	Hold  string // the event after which it waits for its host's death
	Fail  string // the event that it fails
	Alone bool   // it starts no process
}

func (s serving) encode() string {
	encoded, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return url.Values{servingKey: {string(encoded)}}.Encode()
}

func decodeServing(encoded string) (s serving, err error) {
	values, err := url.ParseQuery(encoded)
	if err == nil {
		err = json.Unmarshal([]byte(values.Get(servingKey)), &s)
	}
	return s, err
}

const servingKey = "serving"

// note writes a line, and does with the event as the server was told.
func (s serving) note(ctx context.Context, event, rest string) error {
	if err := fixture.AppendLine(s.Notes, event+" "+s.Block+" "+rest); err != nil {
		return err
	}
	if event == s.Hold {
		<-ctx.Done()
	}
	if event == s.Fail {
		return errors.New("the licence server is busy")
	}
	return nil
}

// newServer returns a server for one session, with a name of its own.
func (s serving) newServer() *mcp.Server {
	name := rand.Text()
	made := mcp.NewServer(&mcp.Implementation{Name: "crash", Version: "1"}, nil)
	made.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if method == noteInitialize {
				if err := s.note(ctx, noteInitialize, name); err != nil {
					return nil, err
				}
			}
			return next(ctx, method, request)
		}
	})
	var mu sync.Mutex
	var count int
	made.AddTool(&mcp.Tool{Name: tool, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var arguments counting
			if err := json.Unmarshal(request.Params.Arguments, &arguments); err != nil {
				return nil, err
			}
			if err := s.note(ctx, noteCall, name+" "+arguments.Call); err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			count++
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(count)}}}, nil
		})
	return made
}

// servingVariable tells a server over stdio what it is told.
const servingVariable = "MCPSESSION_CRASH_SERVING"

// serveStdio serves with a process of its own that heeds nothing and nobody, in
// the session of another terminal, unless it is to do without.
func serveStdio() {
	s, err := decodeServing(os.Getenv(servingVariable))
	if err == nil && !s.Alone {
		stray := exec.Command("sleep", "3600")
		stray.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = stray.Start()
	}
	if err == nil {
		err = s.newServer().Run(context.Background(), &mcp.StdioTransport{})
	}
	if err == nil {
		err = s.note(context.Background(), noteClosing, "")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

// A site is a server over HTTP that lives longer than any host. The URL of a
// session holds what the server is told.
type site struct {
	mcp http.Handler

	mu      sync.Mutex
	servers map[string][]*mcp.Server // by what they were told
}

func (s *site) server(request *http.Request) *mcp.Server {
	told, err := decodeServing(request.URL.RawQuery)
	if err != nil {
		return nil
	}
	made := told.newServer()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[told.Notes+" "+told.Block] = append(s.servers[told.Notes+" "+told.Block], made)
	return made
}

// ServeHTTP serves MCP, and at sessionsPath how many sessions of a block it keeps.
func (s *site) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	told, err := decodeServing(request.URL.RawQuery)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case request.URL.Path == sessionsPath:
		_, _ = fmt.Fprint(w, s.sessions(told))
		return
	case request.Method == http.MethodDelete:
		if err := told.note(request.Context(), noteClosing, ""); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	s.mcp.ServeHTTP(w, request)
}

const sessionsPath = "/sessions"

func (s *site) sessions(of serving) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, made := range s.servers[of.Notes+" "+of.Block] {
		for range made.Sessions() {
			n++
		}
	}
	return n
}

// serveHTTP prints the site's URL and serves until its input ends.
func serveHTTP() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
	s := &site{servers: make(map[string][]*mcp.Server)}
	s.mcp = mcp.NewStreamableHTTPHandler(s.server, nil)
	go func() { _ = http.Serve(listener, s) }()
	fmt.Printf("http://%s\n", listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}
