package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/log"

	"github.com/mcpsession/mcpsession/transport"
)

const (
	// MaxWarmSpecifications is of how many specifications one [Server] of one worker
	// keeps warm sessions. Those of the one that was used least recently are closed
	// when there is another.
	MaxWarmSpecifications = 16
	// WarmIdleTimeout is how long the warm sessions of a specification are kept, and
	// replaced, when nothing of it is opened. Those that a worker begins with are kept
	// until it stops.
	WarmIdleTimeout = 15 * time.Minute
)

// A warmUse is one server on one worker that keeps warm sessions: what of the
// process's pools is for it. The methods of a nil one do nothing.
type warmUse struct {
	in     *warmPools
	server *Server

	ctx    context.Context // done when the worker stops
	cancel context.CancelCauseFunc

	// What follows is guarded by the pools' lock.
	sources []*warmSource // the last one was used last
	stopped bool
	useless bool // it was told that there is nothing to keep warm
	// closing counts what stop waits for. It grows only before stopped is set.
	closing sync.WaitGroup
	watched sync.Once // for stopWith
}

// A warmSource is an argument and a version of a server that a connector was run for.
type warmSource struct {
	use *warmUse
	warmSourceKey
	recipe  opener    // what its pool's sessions are started by
	pool    *warmPool // nil when it has none, or no more
	used    time.Time
	idle    *time.Timer
	kept    bool // until the worker stops
	changes int  // how often in a row the connector specified another server the next time
}

type warmSourceKey struct {
	argument, version string
	stateful          bool
}

// newWarmUse returns nil for a server that keeps nothing warm.
func newWarmUse(in *warmPools, server *Server) *warmUse {
	if server.Warm == 0 {
		return nil
	}
	u := &warmUse{in: in, server: server}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	return u
}

// prewarm begins to fill the pool of sessions without an argument, and returns at
// once.
func (u *warmUse) prewarm() {
	if u == nil || u.server.WarmOnUse {
		return
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	if !u.stopped {
		u.closing.Go(u.prewarmSessions)
	}
}

func (u *warmUse) prewarmSessions() {
	o := sessionOpener(u.server, nil, log.NewStructuredLogger(u.in.log()))
	c, err := o.connector(u.ctx)
	var key *warmKey
	if err == nil {
		key = o.warmKey(c)
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	switch permanent := (*transport.PermanentError)(nil); {
	case u.stopped:
	case errors.As(err, &permanent) && permanent.Reason == transport.ReasonBadArgument:
		// It takes an argument: its sessions are warm from the second on.
	case err != nil:
		u.in.log().Warn("mcpsession: no session is started before it is wanted, since the connector fails without an argument; "+
			"it is begun with the first that opens", "server", u.server.Name, "error", scrubbed(err).Error())
	default:
		if source := u.source(o, c, key); source != nil {
			source.kept = true
			source.pool.top()
		}
	}
}

// connect returns a session that was started before, or is about to have been. It
// reports false when there is nothing to gain: the caller then opens its own, on the
// carrier. Otherwise the carrier is not needed.
func (u *warmUse) connect(ctx context.Context, o *opener, c carrier) (_ *connection, err error, taken bool) {
	if u == nil || ctx.Err() != nil {
		return nil, nil, false
	}
	p := u.pool(o, c)
	if p == nil {
		return nil, nil, false
	}
	return p.take(ctx, o, c)
}

// pool returns the pool for what the opener opens, which it begins to fill.
func (u *warmUse) pool(o *opener, c carrier) *warmPool {
	key := o.warmKey(c)
	if key != nil {
		// A workflow's own ConnectTimeout is for what it opens itself.
		key.connectTimeout = u.server.ConnectTimeout
	}
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	if u.stopped {
		return nil
	}
	source := u.source(o, c, key)
	if source == nil {
		return nil
	}
	source.pool.top()
	return source.pool
}

// source returns the source for what an opener opens, in the pool of what the
// connector has specified this time; nil for what can't be kept warm. The caller holds
// the lock, as of all below.
func (u *warmUse) source(o *opener, c carrier, key *warmKey) *warmSource {
	if key == nil {
		if !u.useless {
			u.useless = true
			u.in.log().Warn("mcpsession: Server.Warm has no effect, since its connector runs no command; "+
				"leave Warm out, or return what transport.Command does as it is", "server", u.server.Name, "transport", fmt.Sprintf("%T", c.transport))
		}
		return nil
	}
	s := u.find(warmSourceKey{string(o.argument), o.version, o.stateful})
	s.recipe = *o
	s.recipe.server, s.recipe.warm, s.recipe.toolsChanged = u.server, nil, nil
	s.recipe.began = time.Time{}
	s.recipe.logger = log.NewStructuredLogger(u.in.log())
	if s.pool == nil || s.pool.key != *key {
		s.leave()
		s.pool = u.in.of(*key)
		s.pool.users = append(s.pool.users, s)
	}
	s.used = time.Now()
	s.idle.Reset(WarmIdleTimeout)
	return s
}

// find returns the source of a key as the one that was used last.
func (u *warmUse) find(key warmSourceKey) *warmSource {
	i := slices.IndexFunc(u.sources, func(s *warmSource) bool { return s.warmSourceKey == key })
	var s *warmSource
	if i >= 0 {
		s = u.sources[i]
		u.sources = slices.Delete(u.sources, i, i+1)
	} else {
		s = &warmSource{use: u, warmSourceKey: key}
		s.idle = time.AfterFunc(WarmIdleTimeout, s.expire)
		if len(u.sources) >= MaxWarmSpecifications {
			u.forget(u.leastUsed())
		}
	}
	u.sources = append(u.sources, s)
	return s
}

func (u *warmUse) leastUsed() *warmSource {
	i := slices.IndexFunc(u.sources, func(s *warmSource) bool { return !s.kept })
	return u.sources[i] // one is kept at most
}

func (u *warmUse) forget(s *warmSource) {
	s.idle.Stop()
	s.leave()
	u.sources = slices.DeleteFunc(u.sources, func(other *warmSource) bool { return other == s })
}

// expire forgets a source that was not used for long.
func (s *warmSource) expire() {
	s.use.in.mu.Lock()
	defer s.use.in.mu.Unlock()
	if !s.kept && time.Since(s.used) >= WarmIdleTimeout { // or it was used as the timer fired
		s.use.forget(s)
	}
}

// changed is called when the connector has come to specify another server than the
// pool's. The next that opens brings the source to its pool.
func (s *warmSource) changed(p *warmPool) {
	if s.pool != p {
		return
	}
	s.leave()
	if s.changes++; s.changes == toldChanges {
		s.use.in.log().Warn("mcpsession: Server.Warm has no effect: its connector specifies another command, environment or logger at each call",
			"server", s.use.server.Name)
	}
}

// toldChanges is from which number of changes on, in a row, a connector is taken for
// one of which no session can be started before it is wanted.
const toldChanges = 3

// leave takes the source out of its pool, which ends with its last.
func (s *warmSource) leave() {
	p := s.pool
	if p == nil {
		return
	}
	s.pool = nil
	p.users = slices.DeleteFunc(p.users, func(other *warmSource) bool { return other == s })
	p.trim()
	if p.closed {
		s.use.closing.Go(p.pending.Wait)
	}
}

// stop closes the warm sessions that no other worker keeps, and returns when their
// servers are gone. It may be called more than once, and before the start.
func (u *warmUse) stop() {
	if u == nil {
		return
	}
	u.in.mu.Lock()
	for _, s := range slices.Clone(u.sources) {
		u.forget(s)
	}
	u.stopped = true
	u.in.mu.Unlock()
	u.cancel(errWorkerStopped)
	u.closing.Wait()
}

// stopWith stops when stopped is closed: for a worker that has no plugin to do it.
// Only the first call counts.
func (u *warmUse) stopWith(stopped <-chan struct{}) {
	if u == nil {
		return
	}
	u.watched.Do(func() {
		go func() {
			<-stopped
			u.stop()
		}()
	})
}
