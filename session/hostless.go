package session

import (
	"context"
	"crypto/rand"
	"math"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/internal/hostless"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

func init() {
	hostless.Open = openHostless
	hostless.Register = func(server string, registry worker.ActivityRegistry) {
		(&block{attempt: &attempt{server: &Server{Name: server}}}).register(registry)
	}
}

// A hostlessSession is a block without its Temporal side.
type hostlessSession struct {
	*block
	released chan struct{}
}

// openHostless takes an attempt through the steps that need no Temporal server: 2, 4
// and 6.
func openHostless(ctx context.Context, name, host string, connect transport.Connector, input queue.SessionInput) (hostless.Session, error) {
	server := Server{Name: name, Connect: connect}
	if err := server.validate(); err != nil {
		return nil, err
	}
	a := &attempt{
		host: newHost(&worker.Options{Identity: host}), server: server.withDefaults(), input: input,
		client: hostless.Client(ctx), info: activity.GetInfo(ctx), logger: activity.GetLogger(ctx),
	}
	a.author = heartbeat.Author{Attempt: a.info.Attempt, Host: host, At: time.Now().UTC()}
	// A lease that is never lost, of a writer that never beats.
	owner := a.info
	owner.HeartbeatTimeout = math.MaxInt64
	a.writer = heartbeat.NewWriter(heartbeat.WriterOptions{Info: owner, Author: a.author, Logger: a.logger})
	a.block = newBlock(ctx, a, rand.Text())
	opener := a.opener()
	carrier, err := opener.connector(a.block.ctx)
	if err == nil {
		var conn *connection
		if conn, err = opener.connect(a.block.ctx, carrier); err == nil {
			a.block.attach(conn)
		}
	}
	if err != nil {
		a.block.release()
		return nil, opener.failure(err)
	}
	a.block.worker = queueless{}
	s := &hostlessSession{block: a.block, released: make(chan struct{})}
	go func() {
		defer close(s.released)
		s.serve()
		s.close()
		s.release()
	}()
	return s, nil
}

// Register implements [hostless.Session].
func (s *hostlessSession) Register(registry worker.ActivityRegistry) { s.register(registry) }

// Lose implements [hostless.Session].
func (s *hostlessSession) Lose(reason failure.Reason, message string) {
	s.end(lost(reason, "%s", message))
}

// Ending implements [hostless.Session].
func (s *hostlessSession) Ending() <-chan struct{} { return s.ctx.Done() }

// Wait implements [hostless.Session].
func (s *hostlessSession) Wait() error {
	<-s.released
	return s.ending().err(s.attempt)
}

// A queueless stands for the worker of a block's queue: operations come by other ways.
type queueless struct{ worker.Worker }

// Stop implements [worker.Worker].
func (queueless) Stop() {}
