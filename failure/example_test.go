package failure_test

import (
	"fmt"

	"github.com/mcpsession/mcpsession/failure"
)

// What a workflow does with the error of a block.
func Example() {
	// As toolset.With returns it when the host of its session was lost in a call.
	err := failure.Rewrap(failure.New(failure.TypeDedicatedWorker, "the session is lost", failure.Details{
		Server: "browser", Reason: failure.ReasonHostLost, Tool: "browser_click", ToolRan: failure.RanUnknown,
	}, nil))

	if lost, ok := failure.DedicatedWorker(err); ok {
		fmt.Println("lost:", lost.Reason)
		fmt.Println(lost.Tool, "ran:", lost.ToolRan)
	}
	fmt.Println("could not open:", failure.IsOpen(err))
	// Output:
	// lost: host-lost
	// browser_click ran: unknown
	// could not open: false
}
