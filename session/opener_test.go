package session

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/log"

	"github.com/mcpsession/mcpsession/transport"
)

// One ConnectTimeout is for the connector and the handshake together, as the timeouts of
// activities that open have it, with sessions that are kept warm and without.
func TestConnectTimeoutIsForAll(t *testing.T) {
	t.Parallel()
	for _, warm := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			b := newWarmBench(t)
			b.slow = 2 * DefaultConnectTimeout / 3
			s := b.server(warm)
			s.Connect = func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
				if err := pass(ctx, 2*DefaultConnectTimeout/3); err != nil {
					return nil, err
				}
				return b.connect(ctx, argument)
			}
			u := newWarmUse(b.in, s)
			o := sessionOpener(s, nil, log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
			o.warm = u
			began := time.Now()
			conn, err := o.open(t.Context())
			if err == nil {
				_ = conn.close()
				t.Error("the session opened")
			} else if !strings.Contains(err.Error(), DefaultConnectTimeout.String()) {
				t.Errorf("opening failed with %v", err)
			}
			took(t, began, DefaultConnectTimeout)
			u.stop()
		})
	}
}
