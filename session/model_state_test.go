package session

import "github.com/mcpsession/mcpsession/heartbeat"

// The bounds of a state. One more of any is another field's width, and many more
// states.
const (
	maxHosts = 3 // attempts of session activities that get a host, of all blocks
	maxCalls = 2
	nobody   = int8(-1)
)

// A state is all that there is: the Temporal server's records, the processes of
// hosts, the workflow, and what is on its way between them. It is small, has no
// pointers and is compared by value.
type state struct {
	faults int8 // how many more may happen
	run    int8 // the workflow's current run; a workflow reset begins the next
	flow   flow
	server sessionRecord
	ops    [maxOps]opRecord
	hosts  [maxHosts]proc
	ran    [maxCalls]int8 // how often each call's tool ran
	broken invariant      // the first that does not hold
}

// A flow is the workflow: it opens a block, calls each tool in turn, closes the
// block, and opens another once if that one was lost.
type flow struct {
	stage   stage
	block   int8
	learned int8 // the host whose instance the block has learned
	lostBy  outcomeID
	closed  outcomeID // what close-session ended with, once that was a failure
	told    [maxCalls]outcomeID
}

type stage int8

const (
	opening stage = iota
	open
	closing
	ended
)

// A sessionRecord is what the server has of the current block's session activity.
type sessionRecord struct {
	status      status
	run         int8 // the run whose input it has
	attempt     int8
	marker      markerID // the details of its last heartbeat
	author      int8     // the attempt that wrote them; 0 for none
	rescheduled bool     // describe shows another time than the attempt's own info
	failed      bool     // describe shows a last failure
	reset, drop bool     // an operator's reset that the running attempt has not noticed
	canceled    bool     // the workflow asks it to end
	outcome     outcomeID
}

type status int8

const (
	absent status = iota
	scheduled
	started
	settled
)

// An opRecord is what the server has of an operation's activity, with the
// attempts of it that run in hosts.
type opRecord struct {
	status   status
	block    int8
	queueRun int8 // the run in its queue's name and its envelope
	run      int8 // the run that its own activity info names
	instance int8 // the host whose instance it names
	learned  int8 // the host whose instance its block has learned
	attempt  int8
	anew     bool // describe shows that it ran before, whatever its attempt is
	canceled bool
	outcome  outcomeID
	handlers [2]handler // the newer first
}

type handler struct {
	host, attempt int8 // attempt 0: none
	out           outcomeID
}

// The operations: each call is one.
const (
	opInfo  = iota
	opCall  // and the calls after it
	opClose = opCall + maxCalls
	maxOps  = opClose + 1
)

// A proc is one attempt of a session activity in its host's process.
type proc struct {
	phase   phase
	life    life
	block   int8
	run     int8 // that its activity info names
	input   int8 // the run in its input
	token   int8 // the attempt
	past    markerID
	marker  markerID // what its writer puts into every beat
	late    markerID // a beat that its writer gave up and that still is on its way
	end     heartbeat.End
	lapsed  bool // no beat was acknowledged for a heartbeat timeout
	ran     bool // describe said that the activity had run before
	heard   heartbeat.Heard
	mayOpen bool // it was let open
	polls   bool // the worker of the block's queue runs
	session bool // the MCP session is open
	why     endingID
	out     outcomeID
	entries [maxCalls]ledgerEntry
}

type ledgerEntry struct {
	step  entryStep
	out   outcomeID
	again bool // its outcome does not end what may be sent again
	sends int8
}

type entryStep int8

const (
	unknown   entryStep = iota
	begun               // in the ledger, not yet checked
	passed              // found to be the owner's, not yet sent
	sent                // the tool ran, no answer yet
	done                // with its outcome
	forgotten           // a tombstone
)

type life int8

const (
	alive life = iota
	paused
	dead
)

type phase int8

const (
	unused phase = iota
	starting
	marking
	confirming
	listening
	lookingAgain // confirming once more, after it has heard from its block
	connecting
	markingOpened
	serving
	clearing
	reporting // all is closed; the end is not reported yet
	reported
)

// A markerID is a marker in a state.
type markerID int8

const (
	noMarker markerID = iota
	mayBeOpen
	opened
	cleared
	garbled // details that the next attempt can't decode
)

var markers = [...]heartbeat.Marker{noMarker: "", mayBeOpen: heartbeat.MayBeOpen, opened: heartbeat.Opened, cleared: heartbeat.Cleared, garbled: "garbled"}

// up reports whether the host's process does anything.
func (p *proc) up() bool { return p.phase != unused && p.life == alive }

// accepts reports whether the server takes what a host sends under its attempt's
// token: it compares run and attempt number, and so can't tell an attempt from the
// one of the same number before an operator's reset.
func (s *state) accepts(h int8) bool {
	p := &s.hosts[h]
	return s.server.status == started && p.block == s.flow.block && p.run == s.run && p.token == s.server.attempt
}

// beats reports whether the server's current attempt has a host that keeps it from
// a heartbeat timeout.
func (s *state) beats() bool {
	for h := range s.hosts {
		p := &s.hosts[h]
		if p.up() && !p.lapsed && p.end <= heartbeat.CancelRequested && p.phase != reported && s.accepts(int8(h)) {
			return true
		}
	}
	return false
}
