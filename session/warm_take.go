package session

import (
	"context"
	"log/slog"
	"time"
)

// take returns a session that is alive: one that waits, or else the first that is
// ready of those that are being started, one for the caller among them. It reports
// false when the pool has ended. The session is the caller's from then on.
func (p *warmPool) take(ctx context.Context, o *opener, c carrier) (*connection, error, bool) {
	s, ok := p.takeReady(ctx)
	if s == nil && ok {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx), true
		}
		s, ok = p.await(ctx, o, c)
	}
	switch {
	case !ok:
		return nil, nil, false
	case s.err != nil:
		return nil, s.err, true
	}
	return s.handTo(o), nil, true
}

// takeReady takes a session that waits and answers, within one bound for all. It
// reports false when the pool has ended.
func (p *warmPool) takeReady(ctx context.Context) (_ *warmSession, ok bool) {
	bounded, cancel := context.WithTimeout(ctx, warmCheckTimeout)
	defer cancel()
	for bounded.Err() == nil {
		s, ok := p.pop()
		if s == nil {
			return nil, ok
		}
		alive := s.alive(bounded)
		p.checked(s, alive, ctx.Err() != nil)
		if alive {
			return s, true
		}
	}
	return nil, true
}

// pop takes the session that has waited longest out of the pool, to be checked.
func (p *warmPool) pop() (_ *warmSession, ok bool) {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.closed {
		return nil, false
	}
	for _, s := range p.sessions {
		if s.conn != nil {
			p.drop(s)
			p.pending.Add(1)
			p.top()
			return s, true
		}
	}
	return nil, true
}

// checked ends the check of a session. One that does not answer is closed, and the
// others are asked, too: what has stopped one may have stopped all. If who asked has
// gone away meanwhile, that says nothing of the server.
func (p *warmPool) checked(s *warmSession, alive, askerLeft bool) {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	defer p.pending.Done()
	switch {
	case alive:
		p.failures = 0
		p.log(slog.LevelDebug, "mcpsession: a warm session is handed out", "waited", time.Since(s.since))
		return
	case askerLeft:
		p.dispose(s)
		return
	}
	p.died(s)
	for _, other := range p.sessions {
		if other.conn != nil {
			p.pending.Go(func() { p.inspect(other) })
		}
	}
}

// inspect closes a session that waits and does not answer.
func (p *warmPool) inspect(s *warmSession) {
	ctx, cancel := context.WithTimeout(context.Background(), warmCheckTimeout)
	defer cancel()
	if s.alive(ctx) {
		return
	}
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if !isClosed(s.left) {
		p.died(s)
	}
}

// await has a session started for the caller, and returns the first that there is. It
// reports false when the pool has ended.
func (p *warmPool) await(ctx context.Context, o *opener, c carrier) (*warmSession, bool) {
	w := &warmWaiter{own: new(warmSession), served: make(chan *warmSession, 1)}
	w.own.waiter = w
	if !p.queue(w, o, c) {
		return nil, false
	}
	select {
	case s := <-w.served:
		return s, true
	case <-ctx.Done():
		p.leave(w, context.Cause(ctx))
		return <-w.served, true
	}
}

// queue starts a session for one who waits.
func (p *warmPool) queue(w *warmWaiter, o *opener, c carrier) bool {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.closed {
		return false
	}
	p.waiters = append(p.waiters, w)
	p.start(w.own, *o, &c)
	return true
}

// leave ends the start of one who waits no more, unless it has been served meanwhile.
func (p *warmPool) leave(w *warmWaiter, cause error) {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	p.unlist(w)
	if w.own.waiter == w {
		w.own.cancel(cause)
	}
}
