package transporttest

import (
	"context"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewServer returns the server that the suite expects behind a connector. It
// keeps a count, and a record of calls that wait, for each session. Tools:
//
//	incr   {}      → {count}               adds one to the session's count
//	get    {}      → {count}
//	echo   {text}  → {text}
//	wait   {}      → never                 returns when it is cancelled
//	waits  {}      → {waiting, cancelled}  how many calls of wait there are, and were cancelled
//	pid    {}      → {pid}                 of the server's process
func NewServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "transporttest", Version: "1"}, nil)
	states := &states{of: make(map[*mcp.ServerSession]*state)}

	add(server, "incr", func(_ context.Context, session *mcp.ServerSession, _ none) (counted, error) {
		return counted{Count: states.change(session, func(s *state) { s.count++ }).count}, nil
	})
	add(server, "get", func(_ context.Context, session *mcp.ServerSession, _ none) (counted, error) {
		return counted{Count: states.change(session, func(*state) {}).count}, nil
	})
	add(server, "echo", func(_ context.Context, _ *mcp.ServerSession, in text) (text, error) {
		return in, nil
	})
	add(server, "wait", func(ctx context.Context, session *mcp.ServerSession, _ none) (none, error) {
		states.change(session, func(s *state) { s.waiting++ })
		<-ctx.Done()
		states.change(session, func(s *state) { s.waiting--; s.cancelled++ })
		return none{}, context.Cause(ctx)
	})
	add(server, "waits", func(_ context.Context, session *mcp.ServerSession, _ none) (waits, error) {
		now := states.change(session, func(*state) {})
		return waits{Waiting: now.waiting, Cancelled: now.cancelled}, nil
	})
	add(server, "pid", func(context.Context, *mcp.ServerSession, none) (process, error) {
		return process{PID: os.Getpid()}, nil
	})
	return server
}

type (
	none    struct{}
	counted struct {
		Count int `json:"count"`
	}
	text struct {
		Text string `json:"text"`
	}
	waits struct {
		Waiting   int `json:"waiting"`
		Cancelled int `json:"cancelled"`
	}
	process struct {
		PID int `json:"pid"`
	}
)

func add[In, Out any](server *mcp.Server, name string, run func(context.Context, *mcp.ServerSession, In) (Out, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name},
		func(ctx context.Context, request *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			out, err := run(ctx, request.Session, in)
			return nil, out, err
		})
}

// states are what the server keeps for each of its sessions.
type states struct {
	mu sync.Mutex
	of map[*mcp.ServerSession]*state
}

type state struct {
	count     int
	waiting   int
	cancelled int
}

// change changes a session's state and returns what it is then.
func (s *states) change(session *mcp.ServerSession, change func(*state)) state {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[session] == nil {
		s.of[session] = new(state)
	}
	change(s.of[session])
	return *s.of[session]
}
