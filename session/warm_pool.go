package session

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// warmPools are the warm pools of a process, one for each specification. One lock is
// enough for all: nothing is waited for under it.
type warmPools struct {
	// logger is told what is of no one session; slog.Default when nil.
	logger *slog.Logger

	mu    sync.Mutex
	pools map[warmKey]*warmPool
}

func (w *warmPools) log() *slog.Logger { return cmp.Or(w.logger, slog.Default()) }

// processWarmPools are those that the workers of this process share.
var processWarmPools = newWarmPools()

func newWarmPools() *warmPools { return &warmPools{pools: make(map[warmKey]*warmPool)} }

// A warmKey is what two sessions have in common of which one is as good as the other.
type warmKey struct {
	specification  transport.Specification
	version        string
	stateful       bool
	client         *mcp.ClientOptions
	connectTimeout time.Duration
}

// A warmPool holds sessions of one specification that are started and that nobody
// has.
//
//	          top             started                taken, alive
//	(none) ────────▶ starting ───────▶ ready ───────────────────────▶ its holder's
//	                    │                │ the server exits, or is
//	                    │ failed         │ found dead, or the pool ends
//	                    ▼                ▼
//	               (none, later)       closed
//
// Who finds none ready has one started for itself, as it would without a pool, and
// takes what is ready first: that one or one that the pool had begun before. The
// other is the pool's then. So nobody waits longer than for a start of its own.
type warmPool struct {
	in    *warmPools
	key   warmKey
	users []*warmSource // whom it is for; without any it ends

	sessions []*warmSession // its own: ready ones, and those that are being started
	starting int            // of them
	waiters  []*warmWaiter

	failures int         // in a row
	retry    *time.Timer // while nothing is started after a failure
	told     string      // the failure that was logged last
	closed   bool

	// pending counts what the end waits for: starts, checks and closings. It grows
	// from zero only while the pool is not closed.
	pending sync.WaitGroup
}

const (
	// maxWarmStarts is how many sessions a pool starts at once.
	maxWarmStarts = 2
	// warmRetry and maxWarmRetry bound how long a pool starts nothing after a failed
	// start, or after a server that has exited soon; the time doubles.
	warmRetry    = time.Second
	maxWarmRetry = time.Minute
)

// errWarmDrained ends the starts of a pool that ends.
var errWarmDrained = errors.New("no worker keeps warm sessions of this server any more")

// of returns the pool of a key. The caller holds mu, as of all below that do not take
// it.
func (w *warmPools) of(key warmKey) *warmPool {
	p := w.pools[key]
	if p == nil {
		p = &warmPool{in: w, key: key}
		w.pools[key] = p
	}
	return p
}

// want is how many sessions the pool keeps.
func (p *warmPool) want() (n int) {
	for _, user := range p.users {
		n = max(n, user.use.server.Warm)
	}
	return n
}

// top starts what is missing.
func (p *warmPool) top() {
	for !p.closed && p.retry == nil && len(p.sessions) < p.want() && p.starting < maxWarmStarts {
		from := p.users[0]
		s := &warmSession{from: from, left: make(chan struct{})}
		p.sessions = append(p.sessions, s)
		p.starting++
		p.start(s, from.recipe, nil)
	}
}

// start starts a session: by its connector, or on a carrier that one has built.
func (p *warmPool) start(s *warmSession, o opener, c *carrier) {
	// Not under anybody's context: the session may come to be another's.
	ctx, cancel := context.WithCancelCause(context.Background())
	s.cancel = cancel
	p.pending.Go(func() {
		defer cancel(nil)
		conn, err := s.open(ctx, o, p.key, c)
		p.in.mu.Lock()
		defer p.in.mu.Unlock()
		s.conn, s.err, s.since = conn, err, time.Now()
		p.settle(s)
		p.top()
	})
}

// settle gives a session whose start has ended to whom it is for.
func (p *warmPool) settle(s *warmSession) {
	if s.waiter != nil {
		p.serve(s.waiter, s)
		return
	}
	p.starting--
	if s.err != nil {
		p.drop(s)
		p.startFailed(s)
		return
	}
	if p.told != "" {
		p.told = ""
		p.log(slog.LevelInfo, "mcpsession: a warm session could be started again")
	}
	s.from.changes = 0
	switch {
	case p.closed || len(p.sessions) > p.want():
		p.drop(s)
		p.dispose(s)
	case len(p.waiters) > 0:
		w := p.waiters[0]
		p.drop(s)
		p.adopt(w.own)
		p.serve(w, s)
	default:
		p.log(slog.LevelDebug, "mcpsession: a warm session is ready")
		p.pending.Go(func() { p.watch(s) })
	}
}

// adopt makes a session the pool's that is being started for somebody who needs it no
// more.
func (p *warmPool) adopt(s *warmSession) {
	s.waiter, s.left = nil, make(chan struct{})
	s.from = p.users[0]
	p.sessions = append(p.sessions, s)
	p.starting++
}

// serve gives a session, or its failure, to one who waits. It is in no pool.
func (p *warmPool) serve(w *warmWaiter, s *warmSession) {
	p.unlist(w)
	w.served <- s
}

func (p *warmPool) unlist(w *warmWaiter) {
	p.waiters = slices.DeleteFunc(p.waiters, func(other *warmWaiter) bool { return other == w })
}

// startFailed has the pool wait before it tries again. A connector that has come to
// specify another server is no failure: who opens that next gets a pool for it.
func (p *warmPool) startFailed(s *warmSession) {
	switch {
	case p.closed:
	case errors.Is(s.err, errWarmChanged):
		s.from.changed(p)
	default:
		if text := scrubbed(s.err).Error(); text != p.told {
			p.told = text
			p.log(slog.LevelWarn, "mcpsession: no warm session can be started; sessions open without, and it is tried again", "error", text)
		}
		p.pause()
	}
}

// died is told of a ready session whose server has gone, or answers no more.
func (p *warmPool) died(s *warmSession) {
	p.drop(s)
	p.dispose(s)
	p.log(slog.LevelDebug, "mcpsession: a warm session was lost while it waited", "after", time.Since(s.since))
	if time.Since(s.since) > maxWarmRetry {
		p.failures = 0
	} else {
		p.pause() // or a server that exits soon would be started again and again
	}
	p.top()
}

// pause has the pool start nothing for a while.
func (p *warmPool) pause() {
	if p.retry != nil {
		return
	}
	p.failures++
	wait := maxWarmRetry
	if p.failures < 10 {
		wait = min(warmRetry<<(p.failures-1), maxWarmRetry)
	}
	p.retry = time.AfterFunc(wait, func() {
		p.in.mu.Lock()
		defer p.in.mu.Unlock()
		p.retry = nil
		p.top()
	})
}

// drop takes a session out of the pool. It must not be there any more when its
// connection is handed out or closed.
func (p *warmPool) drop(s *warmSession) {
	p.sessions = slices.DeleteFunc(p.sessions, func(other *warmSession) bool { return other == s })
	if !isClosed(s.left) {
		close(s.left)
	}
}

// dispose closes a session that is nobody's. The caller is counted in pending, or the
// pool is not closed yet.
func (p *warmPool) dispose(s *warmSession) {
	if s.conn != nil {
		p.pending.Go(func() { _ = s.conn.close() })
	}
}

// watch sees the end of a ready session's server.
func (p *warmPool) watch(s *warmSession) {
	select {
	case <-s.left:
	case <-s.conn.gone():
		p.in.mu.Lock()
		defer p.in.mu.Unlock()
		if !isClosed(s.left) {
			p.died(s)
		}
	}
}

// trim closes what is too many once there are fewer users, and ends the pool when
// there is none.
func (p *warmPool) trim() {
	if len(p.users) == 0 {
		p.drain()
		return
	}
	for _, s := range slices.Clone(p.sessions) {
		if len(p.sessions) > p.want() && s.conn != nil {
			p.drop(s)
			p.dispose(s)
		}
	}
}

// drain ends the pool. Sessions that are started for somebody are not its own.
func (p *warmPool) drain() {
	delete(p.in.pools, p.key)
	for _, s := range slices.Clone(p.sessions) {
		p.drop(s)
		p.dispose(s)
		s.cancel(errWarmDrained)
	}
	if p.retry != nil {
		p.retry.Stop()
	}
	p.closed = true
}

// log tells of the pool, which belongs to no session and so has no activity's logger.
func (p *warmPool) log(level slog.Level, message string, attributes ...any) {
	if len(p.users) > 0 {
		attributes = append([]any{"server", p.users[0].use.server.Name}, attributes...)
	}
	p.in.log().Log(context.Background(), level, message, attributes...)
}
