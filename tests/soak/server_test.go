package soak

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/tests/fixture"
)

const (
	// logVariable names the file in which every session notes each call that it runs.
	logVariable = "MCPSESSION_SOAK_LOG"
	// addressVariable is where the server over HTTP listens.
	addressVariable = "MCPSESSION_SOAK_ADDRESS"
)

// The tools. Every call names itself; no two have the same name.
const (
	toolWho   = "who"   // tells the session and the process
	toolWrite = "write" // sets a key, returns what it was
	toolRead  = "read"  // returns a key's value
	toolPause = "pause" // waits a while, returns nothing
)

type arguments struct {
	Call   string `json:"call"`
	Key    string `json:"key,omitempty"`
	Value  string `json:"value,omitempty"`
	Millis int    `json:"millis,omitempty"`
}

// An answer is what every tool returns.
type answer struct {
	Session string `json:"session"`
	Pid     int    `json:"pid"`
	Value   string `json:"value"`
}

// newSession returns the server of one session: a name that no other has, and a
// store of its own.
func newSession() *mcp.Server {
	var mu sync.Mutex
	name, store := rand.Text(), make(map[string]string)
	s := mcp.NewServer(&mcp.Implementation{Name: "soak", Version: "1"}, nil)
	for tool, run := range map[string]func(context.Context, arguments) string{
		toolWho: func(context.Context, arguments) string { return "" },
		toolWrite: func(_ context.Context, in arguments) string {
			mu.Lock()
			defer mu.Unlock()
			old := store[in.Key]
			store[in.Key] = in.Value
			return old
		},
		toolRead: func(_ context.Context, in arguments) string {
			mu.Lock()
			defer mu.Unlock()
			return store[in.Key]
		},
		toolPause: func(ctx context.Context, in arguments) string {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(in.Millis) * time.Millisecond):
			}
			return ""
		},
	} {
		mcp.AddTool(s, &mcp.Tool{Name: tool}, func(ctx context.Context, _ *mcp.CallToolRequest, in arguments) (*mcp.CallToolResult, answer, error) {
			if err := fixture.AppendLine(os.Getenv(logVariable), in.Call+" "+name); err != nil {
				return nil, answer{}, err
			}
			return nil, answer{name, os.Getpid(), run(ctx, in)}, nil
		})
	}
	return s
}

func serveStdio() error {
	return newSession().Run(context.Background(), &mcp.StdioTransport{})
}

// serveHTTP says that it is ready once it listens, and does not return.
func serveHTTP() error {
	l, err := net.Listen("tcp", os.Getenv(addressVariable))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return http.Serve(l, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newSession() }, nil))
}
