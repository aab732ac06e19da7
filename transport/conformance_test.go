//go:build unix

package transport_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
	"github.com/mcpsession/mcpsession/transport/transporttest"
)

func TestCommandConforms(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Subject {
		return commandSubject(t, func(connector transport.Connector) transport.Connector { return connector })
	})
}

func TestCommandWithLifelineConforms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Lifeline does nothing here")
	}
	transporttest.Run(t, func(t *testing.T) transporttest.Subject {
		return commandSubject(t, transport.WithLifeline)
	})
}

func commandSubject(t *testing.T, change func(transport.Connector) transport.Connector) transporttest.Subject {
	started := filepath.Join(t.TempDir(), "started")
	return transporttest.Subject{
		Connector: change(stdioServer(t, switches{Started: started}, transport.CommandOptions{})),
		Lose: func(t *testing.T, session *mcp.ClientSession) {
			server := mustCall[struct{ PID int }](t, session, "pid", nil)
			if err := syscall.Kill(server.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		Opened: func() int { return len(readLines(started)) },
	}
}

func TestInMemoryConforms(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Subject {
		var servers []*mcp.Server
		lost, lose := context.WithCancelCause(context.Background())
		return transporttest.Subject{
			Connector: transport.InMemory(func(transport.Argument) *mcp.Server {
				server := transporttest.NewServer()
				server.AddReceivingMiddleware(cancelledBy(lost))
				servers = append(servers, server)
				return server
			}),
			Lose: func(_ *testing.T, _ *mcp.ClientSession) {
				// The SDK lets handlers finish before a session ends.
				lose(errors.New("the server is lost"))
				for _, server := range servers {
					for session := range server.Sessions() {
						go func() { _ = session.Close() }()
					}
				}
			},
			Opened: func() int { return len(servers) },
		}
	})
}

// cancelledBy is a middleware that cancels handlers when other is done.
func cancelledBy(other context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(other, func() { cancel(context.Cause(other)) })()
			return next(ctx, method, request)
		}
	}
}
