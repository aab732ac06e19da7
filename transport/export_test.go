package transport

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// LifelineVariable marks a supervisor.
const LifelineVariable = lifelineVariable

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
