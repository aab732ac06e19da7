package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpsession/mcpsession/transport"
)

// A warmSession is a session that is started before somebody wants it, or for one
// who waits for it. It is a pool's or somebody's, never both: it leaves the pool, under
// its lock, before anybody else gets to see its connection, and never comes back.
type warmSession struct {
	changes changes
	cancel  context.CancelCauseFunc // ends its start

	// What follows is guarded by the pools' lock.
	waiter *warmWaiter   // who it is started for; nil when it is the pool's
	from   *warmSource   // whose connector starts it, if it is the pool's
	conn   *connection   // once it has started
	err    error         // or why it has not
	since  time.Time     // when it had started
	left   chan struct{} // closed when it is not the pool's, or no more
}

// A warmWaiter waits for the first session that is ready: the one that is started
// for it, or one that the pool had begun to start before.
type warmWaiter struct {
	own    *warmSession
	served chan *warmSession // has room for the one
}

// warmCheckTimeout bounds the question whether the sessions that wait are alive,
// before one is handed out.
const warmCheckTimeout = time.Second

// errWarmChanged is why a session is not kept that a connector would start: by now it
// would start another server.
var errWarmChanged = errors.New("the connector specifies another server than before")

// open starts the session, on the carrier if there is one, by the code that starts
// every other.
func (s *warmSession) open(ctx context.Context, o opener, key warmKey, c *carrier) (*connection, error) {
	o.toolsChanged = s.changes.note
	if c == nil {
		o.began = time.Now()
		built, err := o.connector(ctx)
		if err != nil {
			return nil, err
		}
		if of := o.warmKey(built); of == nil || *of != key {
			return nil, errWarmChanged
		}
		c = &built
	}
	return o.connectCold(ctx, *c)
}

// alive reports whether the server answers. A version of MCP without ping says so in
// its answer.
func (s *warmSession) alive(ctx context.Context) bool {
	if isClosed(s.conn.gone()) {
		return false
	}
	err := s.conn.Ping(ctx, nil)
	return err == nil || protocolError(err) != nil
}

// handTo gives the session to its holder, which is told what came before.
func (s *warmSession) handTo(o *opener) *connection {
	s.changes.tell(o.toolsChanged)
	return s.conn
}

// changes are the notices that a tool list has changed: they are kept until there is
// somebody to tell.
type changes struct {
	mu   sync.Mutex
	came bool
	to   func()
}

func (c *changes) note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.came = true; c.to != nil {
		c.to()
	}
}

func (c *changes) tell(to func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.to = to; c.came && to != nil {
		to()
	}
}

// warmKey tells which pool's sessions are as good as one on the carrier; nil if none
// are. It asks a transport that may be the user's: not under a lock.
func (o *opener) warmKey(c carrier) (key *warmKey) {
	specified, ok := c.transport.(transport.Specified)
	if !ok {
		return nil
	}
	defer func() {
		if recover() != nil {
			key = nil // as of one that wraps nothing
		}
	}()
	return &warmKey{
		specification: specified.Specification(), version: o.version, stateful: o.stateful,
		client: o.server.Client, connectTimeout: o.server.ConnectTimeout,
	}
}
