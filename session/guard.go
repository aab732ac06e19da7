package session

import (
	"context"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/internal/thrown"
)

// A guardedTransport is a transport of a user, of whose connection a panic is an
// error. The MCP SDK calls connections from goroutines of its own, where a panic
// would end the worker's process, and all sessions of it.
type guardedTransport struct{ mcp.Transport }

// Connect implements [mcp.Transport].
func (t guardedTransport) Connect(ctx context.Context) (_ mcp.Connection, err error) {
	defer recovered(&err)
	conn, err := t.Transport.Connect(ctx)
	if err != nil || conn == nil || isSDKs(conn) {
		return conn, err
	}
	return guardedConnection{conn}, nil
}

// isSDKs reports whether a connection is of a type of the MCP SDK. Those have
// methods that only the SDK can name, and which a wrapper would hide from it.
func isSDKs(conn mcp.Connection) bool {
	t := reflect.TypeOf(conn)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.HasPrefix(t.PkgPath(), "github.com/modelcontextprotocol/go-sdk/")
}

type guardedConnection struct{ mcp.Connection }

// Read implements [mcp.Connection].
func (c guardedConnection) Read(ctx context.Context) (_ jsonrpc.Message, err error) {
	defer recovered(&err)
	return c.Connection.Read(ctx)
}

// Write implements [mcp.Connection].
func (c guardedConnection) Write(ctx context.Context, message jsonrpc.Message) (err error) {
	defer recovered(&err)
	return c.Connection.Write(ctx, message)
}

// Close implements [mcp.Connection].
func (c guardedConnection) Close() (err error) {
	defer recovered(&err)
	return c.Connection.Close()
}

// recovered makes a panic of its caller an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = thrown.Error("the transport", p)
	}
}
