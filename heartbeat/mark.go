package heartbeat

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
)

// A Marker is what a session activity's heartbeat says of its session. Markers
// are part of the wire contract: the first of a heartbeat's details.
type Marker string

const (
	// MayBeOpen: this attempt is about to connect, or is connecting.
	MayBeOpen Marker = "mcp-session-may-be-open"
	// Opened: this attempt has a session.
	Opened Marker = "mcp-session-opened"
	// Cleared: this attempt tried to connect and holds no session.
	Cleared Marker = "mcp-session-cleared"
)

func (m Marker) known() bool { return m == MayBeOpen || m == Opened || m == Cleared }

// An Author says which attempt wrote a marker: the second of a heartbeat's
// details.
type Author struct {
	// Attempt is the session activity's attempt.
	Attempt int32 `json:"attempt"`
	// Host is the identity of its worker.
	Host string `json:"host"`
	// At is when the attempt began, by its host's clock.
	At time.Time `json:"at"`
}

// A Past is what an attempt finds of the attempts before it.
type Past struct {
	// Marker is the last marker that an earlier attempt left; empty when none
	// left any.
	Marker Marker
	// Author wrote it.
	Author Author
	// Err says why the details that were found can't be read.
	Err error
}

// ReadPast returns what earlier attempts of the activity of ctx left behind.
func ReadPast(ctx context.Context) Past {
	if !activity.HasHeartbeatDetails(ctx) {
		return Past{}
	}
	var past Past
	if err := activity.GetHeartbeatDetails(ctx, &past.Marker, &past.Author); err != nil {
		return Past{Err: fmt.Errorf("decode the heartbeat details of an earlier attempt: %w", err)}
	}
	if !past.Marker.known() {
		return Past{Err: fmt.Errorf("an earlier attempt left the unknown marker %.64q", string(past.Marker))}
	}
	return past
}
