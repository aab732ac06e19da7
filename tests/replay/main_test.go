// Package replay runs the workflows of replaytests, records their histories, and
// replays those of every release with the code of every other.
package replay

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// roleVariable makes this binary something else than a test: the processes that the
// tests start are itself.
const roleVariable = "MCPSESSION_REPLAY_ROLE"

// The roles.
const (
	roleMCP  = "mcp"
	roleHost = "host"
)

var server *launch.Server

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case roleMCP:
		serveStdio()
		return
	case roleHost:
		runHost()
		return
	}
	os.Exit(fixture.RunTests(m, &server))
}

// serveStdio serves the fixture with a library.
func serveStdio() {
	s := fixture.New()
	fixture.AddLibrary(s)
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}
