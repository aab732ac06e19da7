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

	// Warm is how many sessions are started and through their MCP handshake before
	// anybody wants them, so that a block opens without waiting for the start of its
	// server. Zero is none. It is for servers that are run by [transport.Command] or
	// [transport.CommandWithOptions]; with any other transport, and one that wraps
	// theirs without being [transport.Specified], it does nothing, and the worker's log
	// says so once.
	//
	// Each is handed out once, to one block, if it answers a ping then, and is never
	// taken back. Another is started in the background; so is one for each that exits
	// while it waits, after a pause that grows if that, or a failed start, goes on.
	// Where none is ready a block waits for the first that is, of those that are being
	// started and one of its own: never longer than without Warm, but for the second
	// that a ping may take.
	//
	// Sessions wait by specification: by what the connector's transport says that it
	// would start ([transport.Specified]), with this ProtocolVersion, AllowSessionless,
	// ConnectTimeout, and this same pointer as Client. All servers and workers of the
	// process with the same specification share them, and the largest Warm counts.
	// Arguments that make no difference to it share them, too; each other argument has
	// its own from its first use on, for [MaxWarmSpecifications] at most and for
	// [WarmIdleTimeout] without one.
	//
	// The connector runs at each opening as ever, and once more for each session that
	// is started in the background, there under a context that is no activity's. When
	// it comes to specify something else, because a secret was rotated say, those that
	// wait are closed. One that specifies something else at each call has no use of
	// Warm. With Warm, the handlers of Client get a context without what an activity's
	// has, and may be called while a session waits; that its tool list changed
	// meanwhile is told to the block that gets it.
	//
	// What it costs is the processes that wait. They end when the last worker that
	// keeps them stops, before its Stop returns; with Register in place of the plugin
	// they begin with the first open, and end soon after the worker stops.
	Warm int

	// WarmOnUse begins with the first open what otherwise begins with the worker's
	// start: Warm sessions without an argument.
	WarmOnUse bool

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
	case s.Warm < 0:
		return fault("Warm is %d; use zero for none", s.Warm)
	case s.WarmOnUse && s.Warm == 0:
		return fault("WarmOnUse is set and Warm is not; set how many sessions are to be warm")
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
