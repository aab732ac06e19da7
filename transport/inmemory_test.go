package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
	"github.com/mcpsession/mcpsession/transport/transporttest"
)

// Each connect asks for a server, with the workflow's argument.
func TestInMemoryArgument(t *testing.T) {
	t.Parallel()
	var got []string
	connector := transport.InMemory(func(arg transport.Argument) *mcp.Server {
		got = append(got, string(arg))
		return transporttest.NewServer()
	})
	for _, arg := range []string{`{"tenant":"blue"}`, ""} {
		made, err := connector(t.Context(), transport.Argument(arg))
		if err != nil {
			t.Fatal(err)
		}
		connection, err := made.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := connection.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if diff := cmp.Diff([]string{`{"tenant":"blue"}`, ""}, got); diff != "" {
		t.Errorf("the arguments (-want +got):\n%s", diff)
	}
}

// Without a server there is no session, and a panic is no crash of the worker.
func TestInMemoryWithoutServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		newServer func(transport.Argument) *mcp.Server
		permanent bool
		says      string
	}{
		{"no function", nil, true, "InMemory was given no function"},
		{"no server", func(transport.Argument) *mcp.Server { return nil }, true, "returned no server for this argument"},
		{"panic", func(transport.Argument) *mcp.Server { panic("no database") }, false, "panicked with a string"},
	} {
		made, err := transport.InMemory(test.newServer)(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = made.Connect(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: Connect returned %v", test.name, err)
		}
		var permanent *transport.PermanentError
		if errors.As(err, &permanent) != test.permanent {
			t.Errorf("%s: the error is permanent: %v", test.name, !test.permanent)
		}
		if err := made.(transport.Watched).Close(); err != nil {
			t.Errorf("%s: close: %v", test.name, err)
		}
	}
}

// The server may end the session itself: a loss.
func TestInMemoryServerCloses(t *testing.T) {
	t.Parallel()
	server := transporttest.NewServer()
	made, err := transport.InMemory(func(transport.Argument) *mcp.Server { return server })(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), made, nil)
	if err != nil {
		t.Fatal(err)
	}
	for session := range server.Sessions() {
		if err := session.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	watched := made.(transport.Watched)
	<-watched.Gone()
	if err := watched.Cause(); err == nil || err.Error() != "the in-memory server closed the session" {
		t.Errorf("the cause is %v", err)
	}
	if _, err := session.ListTools(t.Context(), nil); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Errorf("a call after the loss returned %v", err)
	}
}

// A handler that doesn't heed its context holds Close up for a bounded time.
func TestInMemoryHandlerHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entered, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		server := mcp.NewServer(&mcp.Implementation{Name: "hangs", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "hang", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				close(entered)
				<-release
				return &mcp.CallToolResult{}, nil
			})
		made, err := transport.InMemory(func(transport.Argument) *mcp.Server { return server })(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), made, nil)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		go func() {
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "hang"})
			failed <- err
		}()
		<-entered

		start := time.Now()
		err = made.(transport.Watched).Close()
		if err == nil || !strings.Contains(err.Error(), "has not returned 2s after its context was cancelled") {
			t.Errorf("close: %v", err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("close took %v", took)
		}
		if err := <-failed; err == nil {
			t.Error("the call in flight succeeded")
		}
	})
}
