package session

// The protocol as a state machine, every state of which is visited within bounds.
//
// What is modelled. The Temporal server: the session activity's record (attempt
// number, heartbeat details and who wrote them, resets that its attempt has not
// noticed yet), each operation's record, tokens that are compared by run and
// attempt number alone, as the server does, so that a reset makes two attempts
// look like one. Hosts: each attempt of a session activity in its process, in the
// steps of attempt.run, with its writer's marker, lease, dedicated worker, ledger
// and MCP session. The workflow: it opens a block, makes calls one after another,
// closes the block, and opens another once.
//
// What runs is the code's own. [rules] call heartbeat.Decide and Confirm, the
// writer's judgement of answers, and the methods of block, attempt, ending and
// ledger; what the workflow makes of its events is found out by replaying package
// toolset on a history made for the situation. The order of an attempt's steps,
// and what the Temporal server does, is written down here a second time.
//
// What can go wrong, each counted as a fault: a host crashes, is paused (it may
// wake at any later time, before or after its lease), is cut off, stops, can't
// connect, loses its MCP server; a marker or its answer is lost, or the marker
// comes at any later time; a report or an operation's answer is lost; a call or an
// operation times out; the ledger forgets a result; details can't be decoded; the
// session activity times out, is reset with its details or without, is completed
// by an operator; an operation is reset; the workflow is reset; the block is closed
// over a pending call. Late deliveries and any order of steps of different
// processes cost nothing: a step is taken at any time after it became possible, or
// never, when its host does not live on.
//
// What is left out: time, but for the order that leases and timeouts guarantee;
// payload sizes; list operations; idle sessions; concurrent calls of one block,
// which share nothing but the ledger's bound; a workflow's cancel of one call. Two
// losses differ in their reasons only, so the model knows one.
//
// The bounds are each exploration's [config], three hosts and two calls; the test
// prints them with the states, the steps and the depth. -model.faults=1 adds a
// fault to each, which takes about ten times as long, -model.deep adds what is too
// long for every run.

import (
	"flag"
	"maps"
	"testing"
	"time"
)

// A config is the bounds and the environment of an exploration.
type config struct {
	faults, calls, blocks int8
	tries                 int8 // attempts of an activity that its retry policy allows
	// retryTimeouts: the session activity's retry policy is not toolset's, and the
	// server retries it after a lost host and a start-to-close timeout.
	retryTimeouts bool
	// tryOnce: the operations' retry policy allows one attempt.
	tryOnce bool
	// sends is how often a call may be sent, as the caller allows for a tool that is
	// idempotent; none is once.
	sends int8
	// lying: describe can show that an attempt is the first and has its marker,
	// whatever is true. Attempts may then be let open that must not be: instances
	// alone keep the rest.
	lying bool
}

var (
	moreFaults = flag.Int("model.faults", 0, "explore the protocol's model with this many more faults")
	deep       = flag.Bool("model.deep", false, "explore what takes minutes, too")
)

var explorations = map[string]config{
	"a block":              {faults: 2, calls: 2, blocks: 1, tries: 2},
	"two blocks":           {faults: 1, calls: 2, blocks: 2, tries: 3},
	"a call is tried once": {faults: 2, calls: 1, blocks: 1, tries: 2, tryOnce: true},
	"timeouts are retried": {faults: 1, calls: 1, blocks: 1, tries: 3, retryTimeouts: true},
	"describe lies":        {faults: 2, calls: 1, blocks: 1, tries: 2, lying: true},
	// A second send that does not go out must not be told as "no".
	"a call is sent twice": {faults: 2, calls: 1, blocks: 1, tries: 2, sends: 2},
}

var deepExplorations = map[string]config{
	"a block, three faults":            {faults: 3, calls: 1, blocks: 1, tries: 3},
	"two blocks, two faults":           {faults: 2, calls: 2, blocks: 2, tries: 2},
	"timeouts are retried, two faults": {faults: 2, calls: 1, blocks: 1, tries: 3, retryTimeouts: true},
}

// No state within the bounds breaks an invariant, and from each the workflow comes
// to its end.
func TestModel(t *testing.T) {
	t.Parallel()
	all := maps.Clone(explorations)
	if *deep {
		maps.Copy(all, deepExplorations)
	}
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.faults += int8(*moreFaults)
			began := time.Now()
			x := newWorld(c).explore()
			t.Logf("%+v: %d states, %d steps, depth %d, in %v", c, len(x.nodes), x.steps, x.deepest(), time.Since(began).Round(time.Millisecond))
			if x.found() != holds {
				t.Error(x.trace())
			}
		})
	}
}
