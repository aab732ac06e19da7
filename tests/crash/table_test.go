package crash

import (
	"fmt"

	"github.com/mcpsession/mcpsession/heartbeat"
)

// A row says what comes of a host that kills itself at a point. Its first columns
// are those of the table in the documentation of package session.
type row struct {
	step   int    // of the session activity
	killed string // where, as the documentation has it

	leaves string // what the next attempt finds
	then   string // what it does
	sees   string // what the workflow sees

	// What the block costs, on all of its hosts together: how often its connector
	// ran, how many MCP handshakes its server saw, how often its tool ran.
	connectors, handshakes, tools int

	keeps string // what a server over HTTP keeps of the block

	point
	serverHold, serverFail string // see hosting
}

// What a host leaves, besides a marker.
const leavesNothing = "nothing"

// What the next attempt does.
const (
	opens   = "opens"
	refuses = "refuses"
	isNone  = "none comes" // the activity has completed
)

// What the workflow sees.
const (
	seesNothing = "nothing"
	seesAtOpen  = "OpenFailure, host-lost"
	seesInCall  = "call: host-lost, unknown"
	seesInClose = "Close: host-lost"
)

// What a server over HTTP keeps.
const (
	keepsNothing = "nothing"
	keepsSession = "the session"
)

const (
	mayBeOpen = string(heartbeat.MayBeOpen)
	opened    = string(heartbeat.Opened)
	cleared   = string(heartbeat.Cleared)
)

// table is the crash-point table: the points in the order of a session's life.
var table = []row{
	{1, "before the connector", leavesNothing, opens, seesNothing, 1, 1, 1, keepsNothing,
		at(after + takeSession), "", ""},
	{2, "after the connector", leavesNothing, opens, seesNothing, 2, 1, 1, keepsNothing,
		at(before + beatMayBeOpen), "", ""},
	{3, "marker written, not confirmed", mayBeOpen, refuses, seesAtOpen, 1, 0, 0, keepsNothing,
		at(before + describe), "", ""},
	{3, "marker confirmed", mayBeOpen, refuses, seesAtOpen, 1, 0, 0, keepsNothing,
		at(connect), "", ""},
	{4, "in the handshake", mayBeOpen, refuses, seesAtOpen, 1, 1, 0, keepsSession,
		at(serverInits), noteInitialize, ""},
	{4, "handshake failed, marker cleared", cleared, opens, seesNothing, 2, 2, 1, keepsNothing,
		at(before + failSession), "", noteInitialize},
	{4, "after the handshake", mayBeOpen, refuses, seesAtOpen, 1, 1, 0, keepsSession,
		at(before + beatOpened), "", ""},
	{5, "opened sent, not acknowledged", opened, refuses, seesAtOpen, 1, 1, 0, keepsSession,
		at(after + beatOpened), "", ""},
	{5, "opened acknowledged", opened, refuses, seesAtOpen, 1, 1, 0, keepsSession,
		at(makeWorker), "", ""},
	{6, "before its worker polls", opened, refuses, seesAtOpen, 1, 1, 0, keepsSession,
		at(before + pollBlock), "", ""},
	{6, "while a call runs", opened, refuses, seesInCall, 1, 1, 1, keepsSession,
		at(serverIsCalled), noteCall, ""},
	{6, "call ran, completion not sent", opened, refuses, seesInCall, 1, 1, 1, keepsSession,
		at(before + completeCall), "", ""},
	{7, "while closing", opened, refuses, seesInClose, 1, 1, 1, keepsNothing,
		at(serverCloses), noteClosing, ""},
	{7, "closed, nobody told", opened, refuses, seesInClose, 1, 1, 1, keepsNothing,
		at(before+completeClose, before+endSession), "", ""},
	{7, "closed, the block told", opened, refuses, seesNothing, 1, 1, 1, keepsNothing,
		point{[]string{after + completeClose}, before + endSession}, "", ""},
	{7, "closed, the activity completed", leavesNothing, isNone, seesNothing, 1, 1, 1, keepsNothing,
		point{[]string{after + endSession}, before + completeClose}, "", ""},
}

func at(places ...string) point { return point{At: places} }

// cells are the row's columns as the documentation has them.
func (r row) cells() []string {
	return []string{fmt.Sprint(r.step), r.killed, shortMarker(r.leaves), r.then, r.sees,
		fmt.Sprint(r.connectors), fmt.Sprint(r.handshakes), fmt.Sprint(r.tools), r.keeps}
}

// shortMarker is a marker without what all have in common.
func shortMarker(marker string) string {
	switch marker {
	case mayBeOpen:
		return "may-be-open"
	case opened:
		return "opened"
	case cleared:
		return "cleared"
	}
	return marker
}

// A policy is how session activities are retried.
type policy string

const (
	// policyToolset: as package toolset schedules them, not after a lost host.
	policyToolset policy = "toolset's policy"
	// policyOwn: by a policy of the user's own, also after a lost host.
	policyOwn policy = "own policy"
)

// expected are the session activities of the block that was hit, and what the
// attempts found that came to the second host.
func (r row) expected(under policy) (activities []*sessionActivity, found []string) {
	lost := &sessionActivity{false, firstHost, r.leaves, hostTimedOut}
	switch {
	case r.then == isNone:
		return []*sessionActivity{{false, firstHost, "", completed}}, nil
	case r.then == opens && under == policyToolset:
		return []*sessionActivity{lost, {false, secondHost, "", completed}}, []string{leavesNothing}
	case r.then == opens:
		return []*sessionActivity{{true, secondHost, "", completed}}, []string{r.leaves}
	case under == policyToolset:
		return []*sessionActivity{lost}, nil
	default:
		return []*sessionActivity{{true, secondHost, "", refused}}, []string{r.leaves}
	}
}
