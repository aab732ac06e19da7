package session

import (
	"sync"
	"time"
)

// A gate counts what is under way on a worker, so that a worker that stops can wait
// for it, and end it. What is under way counts until its end is reported.
type gate struct {
	mu       sync.Mutex
	inside   int
	stopping chan struct{} // closed when nothing may begin any more
	evicting chan struct{} // closed when everything must end
	idle     chan struct{} // closed when stopping and nothing is left
}

func newGate() *gate {
	return &gate{stopping: make(chan struct{}), evicting: make(chan struct{}), idle: make(chan struct{})}
}

// enter counts one in; it reports false when the worker is stopping.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if isClosed(g.stopping) {
		return false
	}
	g.inside++
	return true
}

// leave counts one out once it has reported its end.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; isClosed(g.stopping) && g.inside == 0 && !isClosed(g.idle) {
		close(g.idle)
	}
}

// shutdown lets what is under way end by itself for as long as grace, ends the
// rest, and returns when all has ended. Each one's end is bounded, so this is too.
func (g *gate) shutdown(grace time.Duration) {
	g.mu.Lock()
	if !isClosed(g.stopping) {
		close(g.stopping)
		if g.inside == 0 {
			close(g.idle)
		}
	}
	g.mu.Unlock()

	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-g.idle:
		return
	case <-timer.C:
	}
	g.mu.Lock()
	if !isClosed(g.evicting) {
		close(g.evicting)
	}
	g.mu.Unlock()
	<-g.idle
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
