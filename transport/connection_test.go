//go:build unix

package transport_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// A server that does not read its input holds up nobody beyond his deadline, and
// what had to wait for its turn was not sent.
func TestWriteHeedsContext(t *testing.T) {
	t.Parallel()
	server := watched(t, transport.CommandWithOptions(transport.CommandOptions{Logger: quiet, CloseTimeout: 1},
		"sh", "-c", "sleep 300"))
	connection, err := server.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	large := request(t, 1, "tools/call")
	large.Params = []byte(`"` + strings.Repeat("x", 1<<20) + `"`) // more than a pipe holds

	ctx, cancel := context.WithCancel(t.Context())
	firstCtx, first := transport.TrackSend(ctx)
	firstDone := make(chan error, 1)
	go func() { firstDone <- connection.Write(firstCtx, large) }()
	until(t, "the first write has begun", first.Began)

	secondCtx, second := transport.TrackSend(ctx)
	secondDone := make(chan error, 1)
	go func() { secondDone <- connection.Write(secondCtx, request(t, 2, "tools/call")) }()

	cancel()
	for _, done := range []<-chan error{firstDone, secondDone} {
		if err := receive(t, "the end of a write", done); !errors.Is(err, context.Canceled) {
			t.Errorf("a write returned %v", err)
		}
	}
	if second.Began() {
		t.Error("a write began while another was under way")
	}

	// The first is still under way, and ends with the server.
	thirdCtx, third := transport.TrackSend(t.Context())
	thirdDone := make(chan error, 1)
	go func() { thirdDone <- connection.Write(thirdCtx, request(t, 3, "tools/call")) }()
	if err := server.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := receive(t, "the end of a write", thirdDone); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Errorf("a write returned %v", err)
	}
	if third.Began() {
		t.Error("a write began after Close")
	}
}

// Only calls are tracked: the notice that a call is cancelled carries the
// values of the call's context, also when the call was never written.
func TestOnlyCallsAreTracked(t *testing.T) {
	t.Parallel()
	server := watched(t, transport.CommandWithOptions(transport.CommandOptions{Logger: quiet}, "cat"))
	connection, err := server.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, send := transport.TrackSend(t.Context())
	notice := &jsonrpc.Request{Method: "notifications/cancelled", Params: []byte("{}")}
	if err := connection.Write(ctx, notice); err != nil {
		t.Fatal(err)
	}
	if send.Began() {
		t.Error("a notification counts as the call")
	}
	if err := connection.Write(ctx, request(t, 1, "tools/call")); err != nil {
		t.Fatal(err)
	}
	if !send.Began() {
		t.Error("a call that was written has not begun")
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	ctx, send = transport.TrackSend(done)
	if err := connection.Write(ctx, request(t, 2, "tools/call")); !errors.Is(err, context.Canceled) {
		t.Errorf("a write whose context is done returned %v", err)
	}
	if send.Began() {
		t.Error("a write whose context is done has begun")
	}
}
