package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/internal/thrown"
)

// inMemoryTimeout bounds the end of a server in this process: its handlers are
// cancelled, and should return by then.
const inMemoryTimeout = 2 * time.Second

// InMemory returns a [Connector] for MCP servers that run in this process, for
// tests and for servers written in Go. Every session has a connection of its
// own, and calls newServer for its server, when it connects: to give each a new
// one keeps their states apart, to give them all the same one shares it.
//
// Close ends the server's side of the session, which cancels the contexts of
// its handlers, and waits up to 2 s for them to return. When the server ends
// the session itself, with [mcp.ServerSession.Close], the session is lost; the
// MCP SDK lets handlers that are running finish before. A nil server is a
// [PermanentError] of reason "no-server", and a panic of newServer an error.
func InMemory(newServer func(Argument) *mcp.Server) Connector {
	return func(ctx context.Context, arg Argument) (mcp.Transport, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return &inMemory{life: newLife(), newServer: newServer, arg: arg}, nil
	}
}

type inMemory struct {
	*life
	newServer func(Argument) *mcp.Server
	arg       Argument
}

// Connect implements [mcp.Transport]: it starts the server's side.
func (m *inMemory) Connect(ctx context.Context) (mcp.Connection, error) {
	return m.life.connect(ctx, m.start)
}

func (m *inMemory) start(ctx context.Context) (mcp.Connection, error) {
	server, err := m.makeServer()
	if err != nil {
		return nil, err
	}
	serverEnd, clientEnd := mcp.NewInMemoryTransports()
	// Not ctx: the server must see no more of its client than one in another
	// process would.
	session, err := server.Connect(context.Background(), serverEnd, nil)
	if err != nil {
		return nil, fmt.Errorf("transport: connect the in-memory server: %w", err)
	}
	inner, err := clientEnd.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	connection := newConnection(inner, m.life, "the in-memory server")
	go m.run(session, connection)
	return connection, nil
}

func (m *inMemory) makeServer() (server *mcp.Server, err error) {
	if m.newServer == nil {
		return nil, Permanent("no-server", errors.New("transport: InMemory was given no function; give it one that returns an *mcp.Server"))
	}
	defer func() {
		if p := recover(); p != nil {
			server, err = nil, thrown.Error("transport: the function given to InMemory", p)
		}
	}()
	if server = m.newServer(m.arg); server == nil {
		return nil, Permanent("no-server", errors.New("transport: the function given to InMemory returned no server for this argument"))
	}
	return server, nil
}

// run sees the server's side through to its end.
func (m *inMemory) run(session *mcp.ServerSession, connection *connection) {
	defer close(m.gone)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = session.Wait() // its error says what the client's side did
	}()

	select {
	case <-m.ending:
	case <-ended:
		m.lose(nil)
	}
	if !m.asked {
		connection.awaitReader()
	}
	_ = connection.Connection.Close() // which also cancels the server's handlers

	timer := time.NewTimer(inMemoryTimeout)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		m.closeErr = fmt.Errorf("transport: a handler of the in-memory server has not returned %v after its context was cancelled; it was given up",
			inMemoryTimeout)
	}
	if !m.asked {
		m.cause = errors.New("the in-memory server closed the session")
		if m.fault != nil {
			m.cause = fmt.Errorf("the in-memory server %w", m.fault)
		}
	}
}
