package session

import (
	"context"
	"slices"
	"time"
)

// giveBack ends a lease. A broken connection is given to nobody else.
func (p *pool) giveBack(l *lease, broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if broken && l.member != nil {
		p.retire(l.member)
	}
	p.release(l)
}

// giveBackDoubted ends the lease of a call that got no answer in time, and sees
// meanwhile whether the server answers anything at all.
func (p *pool) giveBackDoubted(l *lease) {
	if l.member == nil {
		p.giveBack(l, true)
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(p.ctx, pingTimeout)
		defer cancel()
		// A version without sessions has no ping: that, too, is an answer.
		err := l.Ping(ctx, nil)
		p.giveBack(l, err != nil && protocolError(err) == nil)
	}()
}

// release ends a lease. The caller holds mu, as of all below.
func (p *pool) release(l *lease) {
	defer p.pending.Done()
	m := l.member
	if m == nil {
		p.dispose(l.connection)
		return
	}
	if m.users--; m.users > 0 {
		return
	}
	switch {
	case isClosed(m.retired):
		p.dispose(m.conn)
	case p.idle == 0:
		p.retire(m)
	case p.idle > 0:
		uses := m.uses
		m.rest = time.AfterFunc(p.idle, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if m.users == 0 && m.uses == uses {
				p.retire(m)
			}
		})
	}
}

// retire takes a connection out of the pool. It is closed once nobody uses it.
func (p *pool) retire(m *member) {
	if isClosed(m.retired) {
		return
	}
	close(m.retired)
	p.members = slices.DeleteFunc(p.members, func(other *member) bool { return other == m })
	if m.rest != nil {
		m.rest.Stop()
	}
	if m.users == 0 {
		p.dispose(m.conn)
	}
}

// dispose closes a connection. Nobody waits for it but close.
func (p *pool) dispose(conn *connection) {
	p.pending.Go(func() { _ = conn.close() })
}

// watch retires a connection whose server goes away.
func (p *pool) watch(m *member) {
	ended := make(chan struct{})
	go func() {
		_ = m.conn.Wait()
		close(ended)
	}()
	select {
	case <-m.conn.gone(): // never, if nothing tells
	case <-ended:
	case <-m.retired:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retire(m)
}

// close closes every connection, and returns when all are closed and every lease
// has been given back. It may be called more than once.
func (p *pool) close(cause error) {
	p.mu.Lock()
	p.cancel(cause)
	for _, m := range slices.Clone(p.members) {
		p.retire(m)
	}
	p.mu.Unlock()
	p.pending.Wait()
}

// closeWith closes the pool when stopped is closed: for a worker that has no plugin
// to do it. Only the first call counts.
func (p *pool) closeWith(stopped <-chan struct{}, cause error) {
	p.closing.Do(func() {
		go func() {
			<-stopped
			p.close(cause)
		}()
	})
}

// giveBackOwn ends the lease of a connection that is its caller's own, and closes
// closed once the connection is.
func (p *pool) giveBackOwn(l *lease) (closed <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.pending.Done()
		_ = l.connection.close()
	}()
	return done
}
