package interop

import (
	"context"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// A transportKind is a transport that a server may speak.
type transportKind string

const (
	stdio      transportKind = "stdio"
	streamable transportKind = "streamable-http"
	sse        transportKind = "sse" // the one that streamable HTTP replaced
)

// A place is what a server may be told when it is run.
type place struct {
	*testing.T
	over transportKind
	dir  string // the row's own
	// block is the name of the block whose process it is, over stdio.
	block string
	// port is where it is to listen, if it is to.
	port string
}

// A program is how a server is run.
type program struct {
	name string
	args []string
	env  []string // besides the base environment of package transport
	dir  string   // where it is run; empty if it is no matter
	path string   // of the URL, over HTTP
	// prepare makes what is to be in the row's directory; nil makes nothing.
	prepare func(*bundle)
	// mark is in the server's command line, and not in that of what it starts.
	mark string
}

// What is in the environment of every process that a row has started, directly or
// not.
const (
	rowVariable   = "MCPSESSION_INTEROP_ROW"
	blockVariable = "MCPSESSION_INTEROP_BLOCK"
)

// owned returns the variables for the processes of a block.
func (b *bundle) owned(block string) []string {
	return []string{rowVariable + "=" + b.taskQueue, blockVariable + "=" + b.blockOwner(block)}
}

func (b *bundle) blockOwner(block string) string { return b.taskQueue + "/" + block }

// connector returns a connector that runs the program over stdio, for the block
// that the argument names.
func (b *bundle) connector(run func(*place) program) transport.Connector {
	return func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		var block string
		if err := arg.Decode(&block); err != nil {
			return nil, err
		}
		p := run(&place{T: b.T, over: stdio, dir: b.dir, block: block})
		return transport.CommandWithOptions(transport.CommandOptions{
			Env:    append(b.owned(block), p.env...),
			Dir:    p.dir,
			Logger: slog.New(slog.DiscardHandler),
		}, p.name, p.args...)(ctx, arg)
	}
}

// connector returns a connector for the visit's site. Some blocks come by its
// front, which they don't notice.
func (v *visit) connector() transport.Connector {
	return func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
		var block string
		if err := arg.Decode(&block); err != nil {
			return nil, err
		}
		if v.over == sse {
			return transport.HTTP(v.site.url(), transport.WithSSE())(ctx, arg)
		}
		if block == secondBlock || block == restartedBlock {
			return transport.HTTP(v.front.url())(ctx, arg)
		}
		return transport.HTTP(v.site.url())(ctx, arg)
	}
}
