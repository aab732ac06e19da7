package tests

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// A server whose answer to the handshake, with its instructions, is over the payload
// limit can't be told of to a workflow: Open fails and says so, in one attempt, and
// the session that there was is closed.
func TestHandshakeOverTheLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var made []*mcp.Server
	count := newConnects()
	s := inMemory("talkative", func() *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "talkative", Version: "1"}, &mcp.ServerOptions{
			Instructions: strings.Repeat("x", 3_000_000),
		})
		made = append(made, server)
		return server
	})
	s.Connect = count.of(s.Connect)
	options := toolset.Options{Server: "talkative", Session: attempts(3)}
	options.Session.HeartbeatTimeout = steadyHeartbeat // by which its end is told to the session
	f, _ := b.failToOpen(options, s)
	checkOpenFailure(t, f, "talkative", failure.ReasonConnect, "handshake", "instructions", "larger")
	if n := len(count.calls); n != 1 {
		t.Errorf("the connector was called %d times", n)
	}
	for _, server := range made {
		for range server.Sessions() {
			t.Error("a session is left")
		}
	}
}
