package heartbeat_test

import (
	"fmt"

	"github.com/mcpsession/mcpsession/heartbeat"
)

// A second attempt finds that the first one opened a session, and must not open
// another.
func ExampleDecide() {
	verdict := heartbeat.Decide(heartbeat.Facts{
		InputRunID: "run", RunID: "run",
		Past: heartbeat.Past{
			Marker: heartbeat.Opened,
			Author: heartbeat.Author{Attempt: 1, Host: "4711@host-a"},
		},
	})
	fmt.Println(verdict.Decision == heartbeat.Refuse, verdict.Reason)
	fmt.Println(verdict.Message)
	// Output:
	// true host-lost
	// attempt 1 on 4711@host-a opened the session and is gone
}
