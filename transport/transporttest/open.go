package transporttest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/transport"
)

// patience is how long the suite waits for what must happen. It is no measure of
// speed: only a failure takes so long.
const patience = 60 * time.Second

// connector calls the subject's connector.
func (s Subject) transport(t *testing.T) mcp.Transport {
	t.Helper()
	connection, err := s.Connector(t.Context(), s.Argument)
	if err != nil {
		t.Fatalf("connector: %v", err)
	}
	return connection
}

// open returns a session and its transport, which are closed after the test.
func (s Subject) open(t *testing.T) (*mcp.ClientSession, mcp.Transport) {
	t.Helper()
	connector := s.transport(t)
	session := s.connect(t, connector)
	return session, connector
}

func (s Subject) connect(t *testing.T, over mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "transporttest", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if server, ok := over.(transport.Watched); ok {
		t.Cleanup(func() { _ = server.Close() })
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	session, err := client.Connect(ctx, over, s.Session)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// watched returns a session over a transport that is Watched, or skips the test.
func (s Subject) watched(t *testing.T) (*mcp.ClientSession, transport.Watched) {
	t.Helper()
	session, over := s.open(t)
	server, ok := over.(transport.Watched)
	if !ok {
		t.Skipf("%T is not transport.Watched", over)
	}
	return session, server
}

func (s Subject) lose(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	if s.Lose == nil {
		t.Skip("the subject has no Lose")
	}
	s.Lose(t, session)
}

// call calls a tool and decodes its structured result.
func call[Out any](ctx context.Context, session *mcp.ClientSession, tool string, in any) (out Out, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return out, err
	}
	if err := result.GetError(); err != nil {
		return out, err
	}
	data, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(data, &out)
}

func mustCall[Out any](t *testing.T, session *mcp.ClientSession, tool string, in any) Out {
	t.Helper()
	out, err := call[Out](t.Context(), session, tool, in)
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return out
}

// startWait calls the tool wait, and returns once the server runs it. The
// channel gets the error of the call.
func startWait(ctx context.Context, t *testing.T, session *mcp.ClientSession) <-chan error {
	t.Helper()
	failed := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
		if err == nil {
			err = errors.New("the tool returned")
		}
		failed <- err
	}()
	until(t, "the server runs the call", func() bool {
		return mustCall[waits](t, session, "waits", nil).Waiting == 1
	})
	return failed
}

// until tries a condition again and again. Each try asks the server.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it is not so that %s", patience, what)
		}
	}
}

// receive waits for a value, or for the close of the channel.
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

// failOnLeak fails the test if goroutines are left that were not there before.
func failOnLeak(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if t.Failed() || t.Skipped() {
			return
		}
		err := goleak.Find(before) // waits a little itself
		for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); {
			err = goleak.Find(before)
		}
		if err != nil {
			t.Error(err)
		}
	})
}
