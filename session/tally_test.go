package session

import (
	"testing"

	"github.com/mcpsession/mcpsession/heartbeat"
)

// A call that is sent again is the same call, and one that ended is no longer under
// way.
func TestTally(t *testing.T) {
	t.Parallel()
	var counted tally
	first, second := counted.begin(false), counted.begin(false)
	if got := counted.read(); got != (heartbeat.Tally{Calls: 2, Running: 2}) {
		t.Errorf("two calls under way: %+v", got)
	}
	first()
	again := counted.begin(true)
	second()
	if got := counted.read(); got != (heartbeat.Tally{Calls: 2, Running: 1}) {
		t.Errorf("one sent again: %+v", got)
	}
	again()
	if got := counted.read(); got != (heartbeat.Tally{Calls: 2}) {
		t.Errorf("all over: %+v", got)
	}
}
