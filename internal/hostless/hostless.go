// Package hostless lets package toolsettest hold sessions of package session in a
// test, with no worker: the connection, the operations, the ledger and the judgement
// of failures are those of a worker; heartbeats, markers and the task queue, which
// need a Temporal server, are left out. It is a seam between the two packages, and
// nobody else's.
package hostless

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/transport"
)

// A Session is a session that is open, or was.
type Session interface {
	// Register registers the operations of this very session, by their names on the
	// wire.
	Register(worker.ActivityRegistry)
	// Lose ends the session for a reason, unless it has ended.
	Lose(reason failure.Reason, message string)
	// Ending is closed when the end of the session has begun.
	Ending() <-chan struct{}
	// Wait returns what the session activity reports, once the session has ended and
	// its server is gone: nil when the block closed it.
	Wait() error
}

// What package session sets when it is imported.
var (
	// Open opens a session in an attempt of the session activity of ctx. Its error is
	// what that activity would report.
	Open func(ctx context.Context, server, host string, connect transport.Connector, input queue.SessionInput) (Session, error)
	// Register registers the operations of no session, for the types that they have.
	Register func(server string, registry worker.ActivityRegistry)
)

type clientKey struct{}

// WithClient returns the context of an activity whose Temporal client is another:
// that of the SDK's test environment knows no request that the engine makes.
func WithClient(ctx context.Context, c client.Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// Client returns the Temporal client of an activity.
func Client(ctx context.Context) client.Client {
	if c, ok := ctx.Value(clientKey{}).(client.Client); ok {
		return c
	}
	return activity.GetClient(ctx)
}
