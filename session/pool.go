package session

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A pool holds the connections of one server that the stateless calls of one worker
// share: those on which the server speaks a version of MCP without sessions. On any
// other, one caller could see what another has left.
//
//	          take              opened                idle for long enough
//	(none) ─────────▶ opening ─────────▶ live ─────────────────────────────▶ closed
//	                     │                 │ failed in transport               ▲
//	                     ▼                 ▼                                   │
//	                  (none)            retired ───────────────────────────────┘
//	                                              its last call has left it
//
// Nobody is given a connection that is retired. What can't be shared is its caller's
// own, and closed when the caller gives it back.
type pool struct {
	open  func(context.Context) (*connection, error)
	idle  time.Duration // how long a live connection is kept without a call; negative is for ever
	most  int           // live connections
	calls int           // at once on one connection; zero is no limit

	// ctx ends what is being opened, and tells that the pool is closed.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	members []*member
	dials   []*dial
	legacy  bool // the connection that came last could not be shared
	// pending counts what close waits for: openings, leases, and closings.
	pending sync.WaitGroup
	closing sync.Once // for closeWith
}

// A member is a connection of the pool.
type member struct {
	conn    *connection
	slots   chan struct{} // nil without a limit
	users   int
	uses    int // how often it was taken
	retired chan struct{}
	rest    *time.Timer // while it has no users
}

// A dial is a connection that is being opened, for whoever waits for it.
type dial struct {
	done      chan struct{} // closed when one of the others is there
	lease     *lease        // for who has begun it; nil with an error
	err       error
	abandoned bool // who has begun it waits no more
}

// A lease is a caller's right to make requests on a connection until it gives it
// back.
type lease struct {
	*connection
	member *member // nil when the connection is the caller's own
	// reused tells that the connection was there before the call.
	reused bool
}

func newPool(open func(context.Context) (*connection, error), idle time.Duration, most, calls int) *pool {
	p := &pool{open: open, idle: idle, most: max(most, 1), calls: calls}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	return p
}

// take returns a connection to make one call on. The caller gives it back.
func (p *pool) take(ctx context.Context) (*lease, error) {
	for {
		l, o, mine := p.seat(ctx)
		switch {
		case l != nil:
			return l, nil
		case o == nil && p.ctx.Err() != nil:
			return nil, context.Cause(p.ctx)
		case o == nil:
			return p.takeOwn(ctx, p.open)
		}
		select {
		case <-o.done:
			if o.err != nil {
				return nil, o.err
			}
			if mine {
				return o.lease, nil
			}
		case <-ctx.Done():
			if mine {
				p.abandon(o)
			}
			return nil, context.Cause(ctx)
		}
	}
}

// seat returns a connection that is there, or else one to wait for, and whether it
// is the caller who has that opened. It returns neither when the server's
// connections can't be shared, and when the pool is closed.
func (p *pool) seat(ctx context.Context) (_ *lease, _ *dial, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return nil, nil, false
	}
	var free *member
	for _, m := range p.members {
		if free == nil || m.users < free.users {
			free = m
		}
	}
	room := len(p.members)+len(p.dials) < p.most
	switch {
	case free != nil && (free.users == 0 || !room):
		return p.lend(free), nil, false
	case p.legacy:
		return nil, nil, false
	case !room:
		return nil, p.dials[0], false
	}
	o := &dial{done: make(chan struct{})}
	p.dials = append(p.dials, o)
	// Not under the caller's context: others wait for it, too.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(p.ctx, func() { cancel(context.Cause(p.ctx)) })
	p.pending.Go(func() {
		defer cancel(nil)
		defer stop()
		p.settle(o, ctx)
	})
	return nil, o, true
}

// settle opens a connection and gives it to whom it is for.
func (p *pool) settle(o *dial, ctx context.Context) {
	conn, err := p.open(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(o.done)
	p.dials = slices.DeleteFunc(p.dials, func(other *dial) bool { return other == o })
	if err == nil && p.ctx.Err() != nil {
		err = context.Cause(p.ctx)
		p.dispose(conn)
	}
	if err != nil {
		o.err = err
		return
	}
	if o.lease = p.admit(conn); o.abandoned {
		p.release(o.lease)
	}
}

// abandon leaves an opening to those who still wait for it, or to the pool.
func (p *pool) abandon(o *dial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if isClosed(o.done) && o.lease != nil {
		p.release(o.lease)
	}
	o.abandoned = true
}

// takeOwn opens a connection in the caller's own time. It becomes one of the pool's
// if it can be shared and there is room.
func (p *pool) takeOwn(ctx context.Context, open func(context.Context) (*connection, error)) (*lease, error) {
	l, err := p.takeApart(ctx, open)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.pending.Done()
	return p.admit(l.connection), nil
}

// takeApart opens a connection that is the caller's own whatever it could be.
func (p *pool) takeApart(ctx context.Context, open func(context.Context) (*connection, error)) (*lease, error) {
	p.mu.Lock()
	closed := p.ctx.Err() != nil
	if !closed {
		p.pending.Add(1)
	}
	p.mu.Unlock()
	if closed {
		return nil, context.Cause(p.ctx)
	}
	conn, err := open(ctx)
	if err != nil {
		p.pending.Done()
		return nil, err
	}
	return &lease{connection: conn}, nil
}

// admit lends a new connection to its first caller. The caller holds mu, as of all
// below.
func (p *pool) admit(conn *connection) *lease {
	p.legacy = !conn.shareable()
	if p.legacy || len(p.members) >= p.most || p.ctx.Err() != nil {
		p.pending.Add(1)
		return &lease{connection: conn}
	}
	m := &member{conn: conn, retired: make(chan struct{})}
	if p.calls > 0 {
		m.slots = make(chan struct{}, p.calls)
	}
	p.members = append(p.members, m)
	p.pending.Go(func() { p.watch(m) })
	return p.lend(m)
}

func (p *pool) lend(m *member) *lease {
	l := &lease{connection: m.conn, member: m, reused: m.uses > 0}
	m.users++
	m.uses++
	if m.rest != nil {
		m.rest.Stop()
	}
	p.pending.Add(1)
	return l
}

// shares reports whether the connection that came last could be shared, or none has
// come yet.
func (p *pool) shares() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.legacy
}

// shareable reports whether no request on a connection can see what another has
// left: the server has agreed to a version of MCP that has no sessions.
func (c *connection) shareable() bool {
	initialize := c.InitializeResult()
	return initialize != nil && initialize.ProtocolVersion >= firstSessionlessVersion
}
