package session

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

// DefaultConnectTimeout is how long connecting and the MCP handshake may take
// when a [Server] names no other time: long enough for a cold package runner.
const DefaultConnectTimeout = 60 * time.Second

// DefaultSharedIdleTimeout is how long a connection that stateless calls share is
// kept without a call when a [Server] names no other time.
const DefaultSharedIdleTimeout = 5 * time.Minute

// DefaultProtocolVersion is the MCP version that a session asks for when a
// [Server] names none. It is the last that has sessions over HTTP: a client that
// asks for a later one gets a server that keeps nothing between calls, without
// an error.
const DefaultProtocolVersion = "2025-11-25"

// A Server is one MCP server that workflows can open sessions of, and make
// stateless calls to.
type Server struct {
	// Name is what workflows call the server: 1 to 64 letters, digits, '-' and
	// '_'. It is part of task queues and activity types, so a change of it breaks
	// workflows that run. Required.
	Name string

	// Connect builds the transport of each session, and of each connection for
	// stateless calls. Required; see package
	// transport for connectors.
	Connect transport.Connector

	// Client configures the MCP client of each session; nil is fine. Two defaults
	// differ from the MCP SDK's own: without Capabilities none are declared (the
	// SDK would declare roots, which nothing answers), and without a handler for
	// what a server may ask for, a tool's call is never sent again to answer it.
	// The handlers run on the worker. Client is copied when a session opens.
	Client *mcp.ClientOptions

	// ProtocolVersion is the MCP version to ask for. When empty, sessions ask for
	// DefaultProtocolVersion, and connections for stateless calls for the newest that
	// the MCP SDK has. The server may answer with another.
	ProtocolVersion string

	// AllowSessionless lets a block open on an HTTP server that gives no session
	// id, and so keeps no state between calls. Without it such a block fails to
	// open.
	AllowSessionless bool

	// ConnectTimeout bounds connecting and the MCP handshake of one attempt;
	// DefaultConnectTimeout when zero.
	ConnectTimeout time.Duration

	// MaxConcurrentCalls is how many requests of one session, or on one connection
	// that stateless calls share, may be under way at once; more wait for their turn,
	// and their CallTimeout begins with it. Zero is no limit.
	MaxConcurrentCalls int

	// IdleTimeout ends a session, as lost, when no operation of its block has come
	// for that long. Zero is never.
	IdleTimeout time.Duration

	// SharedIdleTimeout is how long a connection that stateless calls share is kept
	// when no call is under way on it: DefaultSharedIdleTimeout when nil. Zero closes
	// it with its last call, a negative time keeps it until the worker stops.
	//
	//	SharedIdleTimeout: new(time.Minute)
	SharedIdleTimeout *time.Duration

	// SharedConnections is how many connections stateless calls share at most. The
	// next is opened by a call that finds all others in use; once there is no more
	// room, calls go to the one with the fewest. One when zero, which is enough for
	// a server that works at several requests at once.
	SharedConnections int
}

// versionPattern is what an MCP version looks like. Which of them a server speaks is
// known only by asking it.
var versionPattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// validate returns an error that names the field and the fix.
func (s *Server) validate() error {
	if err := queue.ValidateServer(s.Name); err != nil {
		return fmt.Errorf("session: Server.Name: %w", err)
	}
	fault := func(format string, args ...any) error {
		return fmt.Errorf("session: server %q: %w", s.Name, fmt.Errorf(format, args...))
	}
	switch {
	case s.Connect == nil:
		return fault("Connect is nil; set a connector such as transport.Command(…)")
	case s.ProtocolVersion != "" && !versionPattern.MatchString(s.ProtocolVersion):
		return fault("ProtocolVersion is %q; MCP versions are dates such as %q", s.ProtocolVersion, DefaultProtocolVersion)
	case s.ConnectTimeout < 0:
		return fault("ConnectTimeout is %v; use zero for %v", s.ConnectTimeout, DefaultConnectTimeout)
	case s.MaxConcurrentCalls < 0:
		return fault("MaxConcurrentCalls is %d; use zero for no limit", s.MaxConcurrentCalls)
	case s.IdleTimeout < 0:
		return fault("IdleTimeout is %v; use zero for none", s.IdleTimeout)
	case s.SharedConnections < 0:
		return fault("SharedConnections is %d; use zero for one", s.SharedConnections)
	//lint:ignore SA1019 users may set what the MCP SDK deprecates and still supports
	case s.Client != nil && s.Client.CreateMessageHandler != nil && s.Client.CreateMessageWithToolsHandler != nil:
		return fault("Client sets both CreateMessageHandler and CreateMessageWithToolsHandler; set one")
	}
	return nil
}

// withDefaults returns the server with its zero fields filled in.
func (s Server) withDefaults() *Server {
	if s.ConnectTimeout == 0 {
		s.ConnectTimeout = DefaultConnectTimeout
	}
	idle := DefaultSharedIdleTimeout
	if s.SharedIdleTimeout != nil {
		idle = *s.SharedIdleTimeout
	}
	s.SharedIdleTimeout = &idle
	return &s
}

// checkServers returns the servers with their defaults, or what is wrong with
// them.
func checkServers(servers []Server) ([]*Server, error) {
	if len(servers) == 0 {
		return nil, errors.New("session: no server given; name at least one")
	}
	known := make(map[string]bool, len(servers))
	checked := make([]*Server, 0, len(servers))
	for _, s := range servers {
		if err := s.validate(); err != nil {
			return nil, err
		}
		if known[s.Name] {
			return nil, fmt.Errorf("session: server %q is given twice; a name has one server on a worker", s.Name)
		}
		known[s.Name] = true
		checked = append(checked, s.withDefaults())
	}
	return checked, nil
}
