// Package replay runs the workflows of replaytests, records their histories, and
// replays those of every release with the code of every other.
package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// The roles of the processes that the tests start, which are this binary.
const (
	roleMCP  = "mcp"
	roleHost = "host"
)

var server *launch.Server

func TestMain(m *testing.M) {
	fixture.Play(map[string]func(){roleMCP: serveStdio, roleHost: fixture.Host(newHost)})
	if err := registerScripts(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(fixture.RunTests(m, &server))
}

// registerScripts registers the scripts of the workflows.
func registerScripts() error {
	return errors.Join(
		session.RegisterScript(workflows.CountScript, func(ctx context.Context, mcp *session.Conn, times int) (count int, err error) {
			for range times {
				if count, err = session.Call[int](ctx, mcp, fixture.Incr, nil); err != nil {
					return 0, err
				}
			}
			return count, nil
		}),
		session.RegisterScript(workflows.RefusingScript, func(ctx context.Context, mcp *session.Conn, _ any) (int, error) {
			if _, err := mcp.CallTool(ctx, fixture.Incr, nil); err != nil {
				return 0, err
			}
			return 0, temporal.NewApplicationError("nothing is to be had here", workflows.RefusingScript)
		}),
	)
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
