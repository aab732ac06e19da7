package heartbeat

import (
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// A Tally says how much a session has served when a heartbeat was sent: the third
// of its details. It is for people who look at open sessions; no attempt decides by
// it, and workers of older releases send none.
type Tally struct {
	// Key is the key of the session's block, as package queue has it.
	Key string `json:"key,omitempty"`
	// OpenedAt is when the session opened, by its host's clock; zero before that.
	OpenedAt time.Time `json:"openedAt,omitzero"`
	// Calls is how many tool calls the session has begun. One that was sent again
	// counts once.
	Calls int64 `json:"calls"`
	// Running is how many of them have not ended, those that wait for their turn
	// included.
	Running int64 `json:"running"`
}

// A Beat is what a heartbeat of a session activity says, as DescribeWorkflowExecution
// shows it to one who is no attempt of the activity.
type Beat struct {
	// Marker says what the session is at; empty while no heartbeat had details.
	Marker Marker
	// Author sent the heartbeat.
	Author Author
	// Tally is nil when the host is of a release that sends none.
	Tally *Tally
}

// ReadBeat decodes the heartbeat details of a pending session activity. It returns an
// error for details that codec can't decode, as those that the worker's own codec has
// encrypted, and for those of another kind of activity.
func ReadBeat(codec converter.DataConverter, details *commonpb.Payloads) (Beat, error) {
	var beat Beat
	if len(details.GetPayloads()) == 0 {
		return beat, nil
	}
	var tally Tally
	if err := codec.FromPayloads(details, &beat.Marker, &beat.Author, &tally); err != nil {
		return Beat{}, fmt.Errorf("decode the heartbeat details of a session activity: %w", err)
	}
	if !beat.Marker.known() {
		return Beat{}, fmt.Errorf("the heartbeat has the unknown marker %.64q", string(beat.Marker))
	}
	if len(details.GetPayloads()) > 2 {
		beat.Tally = &tally
	}
	return beat, nil
}
