package transport

import (
	"os"
	"strconv"
	"sync/atomic"
)

// lifelineVariable marks a process that is to be a supervisor. Its value is the
// number of the variables that the server gets; lifelineEntry names what holds
// one of them, as "KEY=value".
const lifelineVariable = "MCPSESSION_LIFELINE"

func lifelineEntry(i int) string { return lifelineVariable + "_" + strconv.Itoa(i) }

var lifelineInUse atomic.Bool

// Lifeline makes sure that no process of a [Command] server outlives this one,
// however this one ends. It must be the first statement of main, and be reached
// whatever the arguments and the environment are:
//
//	func main() {
//		transport.Lifeline()
//		…
//	}
//
// On Linux, every server that is started from then on gets a supervisor between
// itself and this process: this program once more, which stays in Lifeline and
// never runs the rest of main (variables and init functions of all packages do
// run). It takes a few megabytes, and some milliseconds of start. The supervisor
// holds one end of a pipe whose other end only this process has. When the pipe
// closes, because this process was killed or lets go of the server, the
// supervisor kills all descendants of the server, also those that have left its
// process group or session, until none is left. It does the same when the server
// exits by itself. What it can't end is what isn't a descendant, such as a
// container that a daemon runs.
//
// On other systems Lifeline does nothing; the package comment tells what ends
// servers there.
func Lifeline() {
	if !canSupervise {
		return
	}
	if os.Getenv(lifelineVariable) != "" {
		supervise() // does not return
	}
	lifelineInUse.Store(true)
}
