package session

import (
	"fmt"
	"strings"

	"github.com/mcpsession/mcpsession/failure"
)

// An invariant is what must hold in every state.
type invariant int8

const (
	holds invariant = iota
	// servedByAnother: an operation reached an instance other than the one that its
	// block had learned.
	servedByAnother
	// ranTwice: a tool ran twice for one call.
	ranTwice
	// openedOverMarker: an attempt was let open although the server had an earlier
	// attempt's may-be-open or opened marker, or had handed it one, or what it could
	// not read.
	openedOverMarker
	// openedBeside: an attempt was let open although its block had learned an
	// instance.
	openedBeside
	// openedForeign: an attempt was let open for a block of another run.
	openedForeign
	// servedForeign: a session took an operation that the server dispatched for
	// another run.
	servedForeign
	// saidNo: a call was told that its tool did not run, and it did, before or after.
	saidNo
	// saidYes: a call was told that its tool ran, and it did not.
	saidYes
	// hangs: without further faults the workflow can't end any more.
	hangs
	// faultless: without any fault a call failed, or a block did not open or close.
	faultless
)

var invariantNames = [...]string{
	"holds", "served by another instance", "the tool ran twice", "opened over a marker", "opened beside another session",
	"opened for another run", "served another run", `told "no", and the tool ran`, `told "yes", and the tool did not run`, "hangs", "fails without a fault",
}

func (i invariant) String() string { return invariantNames[i] }

// A kind says who makes a step happen.
type kind int8

const (
	// progress will happen, sooner or later, if nothing else does.
	progress kind = iota
	// optional may happen and need not; nothing may depend on it.
	optional
	// fault is one of those that are counted.
	fault
)

// A step is what happened, with its numbers.
type step struct {
	what string
	a, b int8
}

func (s step) String() string {
	text := strings.ReplaceAll(s.what, "#", fmt.Sprint(s.a))
	return strings.ReplaceAll(text, "%", fmt.Sprint(s.b))
}

// A node is a state that was reached, first by this step from that node.
type node struct {
	state  state
	parent int32
	step   step
	depth  int16
}

// An exploration is all that can be reached.
type exploration struct {
	*world
	nodes []node
	index map[state]int32
	// back are the edges of progress, reversed, as a linked list per node.
	back   []edge
	first  []int32
	steps  int
	broken int32 // the node at which an invariant does not hold; -1 for none
}

type edge struct{ from, next int32 }

// explore visits every state within the bounds, breadth first, so that the trace
// to a broken invariant is as short as can be; it stops there.
func (w *world) explore() *exploration {
	x := &exploration{world: w, index: make(map[state]int32), broken: -1}
	x.visit(w.start(), -1, step{})
	for at := int32(0); at < int32(len(x.nodes)) && x.broken < 0; at++ {
		s := x.nodes[at].state
		w.next(&s, func(k kind, what step, to state) {
			x.steps++
			if k == fault {
				to.faults--
			}
			i := x.visit(to, at, what)
			if k == progress {
				x.back = append(x.back, edge{at, x.first[i]})
				x.first[i] = int32(len(x.back))
			}
		})
	}
	if x.broken < 0 {
		x.broken = x.stuck()
	}
	return x
}

func (x *exploration) visit(s state, from int32, what step) int32 {
	s.check(x.world)
	s.forget(x.world)
	if i, ok := x.index[s]; ok {
		return i
	}
	i := int32(len(x.nodes))
	depth := int16(0)
	if from >= 0 {
		depth = x.nodes[from].depth + 1
	}
	x.nodes = append(x.nodes, node{s, from, what, depth})
	x.first = append(x.first, 0)
	x.index[s] = i
	if s.broken != holds && x.broken < 0 {
		x.broken = i
	}
	return i
}

// stuck returns a state from which progress alone does not lead to the workflow's
// end; -1 if there is none.
func (x *exploration) stuck() int32 {
	ends := make([]bool, len(x.nodes))
	var todo []int32
	for i := range x.nodes {
		if x.nodes[i].state.flow.stage == ended {
			ends[i] = true
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for e := x.first[at]; e != 0; e = x.back[e-1].next {
			if from := x.back[e-1].from; !ends[from] {
				ends[from] = true
				todo = append(todo, from)
			}
		}
	}
	for i, ok := range ends {
		if !ok {
			x.nodes[i].state.broken = hangs
			return int32(i)
		}
	}
	return -1
}

// found is the invariant that the exploration found broken.
func (x *exploration) found() invariant {
	if x.broken < 0 {
		return holds
	}
	return x.nodes[x.broken].state.broken
}

func (x *exploration) deepest() int16 {
	var deepest int16
	for i := range x.nodes {
		deepest = max(deepest, x.nodes[i].depth)
	}
	return deepest
}

// trace tells how the broken state is reached.
func (x *exploration) trace() string {
	var lines []string
	for at := x.broken; at > 0; at = x.nodes[at].parent {
		lines = append(lines, x.nodes[at].step.String())
	}
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "\n  %2d. %s", i+1, lines[len(lines)-1-i])
	}
	s := x.nodes[x.broken].state
	fmt.Fprintf(&b, "\n  ⇒ %v", s.broken)
	for c, told := range s.flow.told {
		name := map[outcomeID]string{notMade: "not made", waiting: "nothing yet"}[told]
		if name == "" {
			name = x.outcomes[told].name
		}
		fmt.Fprintf(&b, "; call %d: tool ran %d×, told: %s", c, s.ran[c], name)
	}
	return b.String()
}

// check notes the first invariant of a state that does not hold; those of a step
// are noted by the step itself.
func (s *state) check(w *world) {
	if s.broken != holds {
		return
	}
	for c, told := range s.flow.told {
		switch {
		case s.ran[c] > max(1, w.sends):
			s.broken = ranTwice
		case told == notMade, told == waiting:
		case s.ran[c] > 0 && w.tells[told] == failure.RanNo:
			s.broken = saidNo
		case s.ran[c] == 0 && w.tells[told] == failure.RanYes:
			s.broken = saidYes
		}
	}
	if s.flow.stage == ended && s.faults == w.config.faults {
		for _, told := range s.flow.told[:w.calls] {
			if told != completed {
				s.broken = faultless
			}
		}
		if s.flow.closed != completed || s.flow.block != 0 {
			s.broken = faultless
		}
	}
}
