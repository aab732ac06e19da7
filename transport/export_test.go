package transport

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// LifelineVariable marks a supervisor.
const LifelineVariable = lifelineVariable

// WithTokenTimeout is an option that replaces [TokenTimeout].
func WithTokenTimeout(d time.Duration) Option {
	return func(o *httpOptions) { o.tokenTimeout = d }
}

// WithLifeline makes a connector of Command start its servers as it does after
// Lifeline was called, and no other connector's.
func WithLifeline(connector Connector) Connector {
	return func(ctx context.Context, arg Argument) (mcp.Transport, error) {
		made, err := connector(ctx, arg)
		if err != nil {
			return nil, err
		}
		made.(*command).supervised = true
		return made, nil
	}
}
