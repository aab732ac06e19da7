package session

import (
	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
)

// emit takes a state that a step leads to.
type emit func(k kind, what step, to state)

// start is a workflow that is about to open its first block.
func (w *world) start() state {
	s := state{faults: w.config.faults}
	s.openBlock(0)
	return s
}

// openBlock is what toolset.Open schedules.
func (s *state) openBlock(block int8) {
	s.flow.stage, s.flow.block, s.flow.learned = opening, block, nobody
	s.flow.lostBy, s.flow.closed = pending, pending
	s.server = sessionRecord{status: scheduled, run: s.run, attempt: 1}
	s.ops[opInfo] = opRecord{status: scheduled, block: block, queueRun: s.run, run: s.run, attempt: 1, instance: nobody}
	s.ops[opClose] = opRecord{}
}

// next gives every step that can be the next.
func (w *world) next(s *state, out emit) {
	if s.broken != holds || s.flow.stage == ended && !s.busy() {
		return
	}
	w.workflowSteps(s, out)
	w.sessionRecordSteps(s, out)
	for o := range int8(maxOps) {
		w.operationSteps(s, o, out)
	}
	for h := range int8(maxHosts) {
		if s.hosts[h].phase != unused {
			w.hostSteps(s, h, out)
		}
	}
	if s.faults > 0 {
		w.faults(s, out)
	}
}

// busy reports whether a call's tool could still run.
func (s *state) busy() bool {
	for h := range s.hosts {
		p := &s.hosts[h]
		for _, e := range p.entries {
			if p.life != dead && p.session && (e.step == begun || e.step == passed) {
				return true
			}
		}
	}
	for c := range maxCalls {
		if s.ops[opCall+c].status == scheduled || s.ops[opCall+c].status == started {
			return true
		}
	}
	return false
}

// workflowSteps are workflow tasks. Each sees all that the server has by then.
func (w *world) workflowSteps(s *state, out emit) {
	f := &s.flow
	switch f.stage {
	case opening:
		w.openSteps(s, out)
	case open:
		w.callSteps(s, out)
	case closing:
		w.closeSteps(s, out)
	}
}

func (w *world) openSteps(s *state, out emit) {
	if s.ops[opInfo].outcome == pending && s.server.outcome == pending {
		return
	}
	to := *s
	answer := s.ops[opInfo].outcome
	told := w.rules.workflow(situation{stage: atOpen, info: answer, session: s.server.outcome})
	switch {
	case told.instance:
		to.flow.stage, to.flow.learned = open, s.ops[opInfo].instance
		to.ops[opInfo] = opRecord{}
		out(progress, step{what: "the workflow learns the instance of host #", a: to.flow.learned}, to)
	case told.waits && !told.anew:
		return
	case told.anew && s.flow.block+1 < w.blocks:
		to.openBlock(s.flow.block + 1)
		out(progress, step{what: "Open schedules another session activity"}, to)
	default:
		to.flow.closed = told.out
		to.leaveBlock(w)
		out(progress, step{what: "Open fails"}, to)
	}
}

// leaveBlock goes on with another block if there are calls to make, and one left.
func (s *state) leaveBlock(w *world) {
	if s.nextCall(w) < w.calls && s.flow.block+1 < w.blocks {
		s.openBlock(s.flow.block + 1)
		return
	}
	s.flow.stage = ended
	s.server, s.ops[opInfo], s.ops[opClose] = sessionRecord{}, opRecord{}, opRecord{}
}

// nextCall is the first call that was not made.
func (s *state) nextCall(w *world) int8 {
	for c, told := range s.flow.told[:w.calls] {
		if told == notMade {
			return int8(c)
		}
	}
	return w.calls
}

// pendingCall is the call that the workflow waits for; maxCalls for none.
func (s *state) pendingCall() int8 {
	for c, told := range s.flow.told {
		if told == waiting {
			return int8(c)
		}
	}
	return maxCalls
}

func (w *world) callSteps(s *state, out emit) {
	if c := s.pendingCall(); c < maxCalls {
		w.awaitCall(s, c, out)
		return
	}
	c := s.nextCall(w)
	lastFailed := c > 0 && s.flow.told[c-1] != completed
	if c < w.calls {
		to := *s
		told := w.rules.workflow(situation{stage: beforeUse, session: s.server.outcome, lostBy: s.flow.lostBy})
		if told.waits {
			to.flow.told[c] = waiting
			to.ops[opCall+c] = w.operation(s)
			out(progress, step{what: "the workflow schedules call #", a: c}, to)
		} else {
			to.flow.told[c] = told.out
			to.noteLoss(w, told.out)
			out(progress, step{what: "call # fails without being scheduled", a: c}, to)
		}
	}
	if c == w.calls || lastFailed {
		to := *s
		to.flow.stage = closing
		told := w.rules.workflow(situation{stage: atClose, session: s.server.outcome, lostBy: s.flow.lostBy})
		switch {
		case !told.waits:
			to.flow.closed = told.out
			to.leaveBlock(w)
		case s.flow.lostBy != pending:
			to.server.canceled = true
		default:
			to.ops[opClose] = w.operation(s)
		}
		out(progress, step{what: "the workflow closes the block"}, to)
	}
}

// operation is one that the block schedules now.
func (w *world) operation(s *state) opRecord {
	op := opRecord{status: scheduled, block: s.flow.block, queueRun: s.run, run: s.run, attempt: 1, instance: s.flow.learned, learned: s.flow.learned}
	if w.rules.namesNewest {
		for h := range int8(maxHosts) {
			if s.hosts[h].phase == serving {
				op.instance = h
			}
		}
	}
	return op
}

func (s *state) noteLoss(w *world, id outcomeID) {
	if s.flow.lostBy == pending && failure.IsDedicatedWorker(w.err(id)) {
		s.flow.lostBy = id
	}
}

// awaitCall is the task in which a call's result, or the session's end, is there.
func (w *world) awaitCall(s *state, c int8, out emit) {
	op := &s.ops[opCall+c]
	if op.outcome == pending && s.server.outcome == pending {
		return
	}
	told := w.rules.workflow(situation{stage: inCall, call: op.outcome, session: s.server.outcome})
	if told.waits {
		return
	}
	to := *s
	to.flow.told[c] = told.out
	to.noteLoss(w, told.out)
	to.abandon(opCall + c)
	out(progress, step{what: "the workflow is told of call #", a: c}, to)
}

// abandon cancels an operation that nobody waits for: one that no host has is
// gone, another is not retried.
func (s *state) abandon(o int8) {
	op := &s.ops[o]
	if op.status == scheduled {
		op.status = settled
	}
	op.canceled = true
}

func (w *world) closeSteps(s *state, out emit) {
	answer := s.ops[opClose].outcome
	if answer == pending && s.server.outcome == pending || s.flow.lostBy != pending && s.server.outcome == pending {
		return
	}
	q := situation{stage: atClose, close: answer, session: s.server.outcome, lostBy: s.flow.lostBy, later: s.server.canceled}
	if s.ops[opClose].status == absent || answer == pending {
		q.close, q.later = pending, true
	}
	told := w.rules.workflow(q)
	to := *s
	if told.waits {
		if s.server.canceled {
			return
		}
		to.server.canceled = true
		out(progress, step{what: "the workflow cancels the session activity"}, to)
		return
	}
	to.flow.closed = told.out
	to.leaveBlock(w)
	out(progress, step{what: "Close returns"}, to)
}

// sessionRecordSteps are what the server does with the session activity.
func (w *world) sessionRecordSteps(s *state, out emit) {
	switch s.server.status {
	case scheduled:
		if s.server.canceled {
			to := *s
			to.settleSession(canceledOutcome)
			out(progress, step{what: "the session activity is cancelled before it has a host"}, to)
			return
		}
		w.dispatch(s, out)
	case started:
		if !s.beats() {
			to := *s
			for h := range to.hosts {
				// What any of them last had acknowledged is older than a heartbeat timeout.
				if p := &to.hosts[h]; p.phase != unused && p.phase != reported && p.block == s.flow.block && p.run == s.run {
					p.lapsed = true
				}
			}
			to.endAttempt(w, heartbeatTimeout+outcomeID(s.server.marker))
			out(progress, step{what: "the server times the session activity's heartbeat out"}, to)
		}
	}
}

func (w *world) dispatch(s *state, out emit) {
	h := int8(0)
	for h < maxHosts && s.hosts[h].phase != unused {
		h++
	}
	to := *s
	if h == maxHosts {
		to.settleSession(noHost)
		out(progress, step{what: "no host takes the session activity"}, to)
		return
	}
	to.server.status = started
	to.hosts[h] = proc{
		phase: starting, block: s.flow.block, run: s.run, input: s.server.run,
		token: s.server.attempt, past: s.server.marker,
	}
	out(progress, step{what: "host # gets attempt % of the session activity", a: h, b: s.server.attempt}, to)
	if s.faults > 0 && s.server.marker != noMarker {
		to.hosts[h].past = garbled
		out(fault, step{what: "host # gets attempt % of the session activity and can't decode its details", a: h, b: s.server.attempt}, to)
	}
}

func (s *state) settleSession(id outcomeID) { s.server.status, s.server.outcome = settled, id }

// endAttempt ends the session activity's attempt: it is retried, or over.
func (s *state) endAttempt(w *world, id outcomeID) {
	r := &s.server
	if !w.retryable(id) || r.canceled || r.attempt >= w.tries {
		s.settleSession(id)
		return
	}
	if r.drop {
		r.marker, r.author = noMarker, 0
	}
	r.status, r.attempt, r.rescheduled, r.failed, r.reset, r.drop = scheduled, r.attempt+1, true, true, false, false
}

// operationSteps are what the server does with an operation's activity.
func (w *world) operationSteps(s *state, o int8, out emit) {
	op := &s.ops[o]
	switch op.status {
	case scheduled:
		for h := range int8(maxHosts) {
			p := &s.hosts[h]
			if p.up() && p.polls && (p.block == op.block || !w.rules.keyed) && p.input == op.queueRun {
				w.arrive(s, o, h, out)
			}
		}
	case started:
		if !s.answerable(op) {
			to := *s
			to.endOperation(w, o, startToClose)
			out(progress, step{what: "operation # times out, as its host is gone", a: o}, to)
		}
	}
	for i, handler := range op.handlers {
		if handler.attempt != 0 {
			w.deliverSteps(s, o, i, out)
		}
	}
}

// answerable reports whether an attempt of the operation, of which the server
// takes an answer, runs in a process that is awake.
func (s *state) answerable(op *opRecord) bool {
	for _, handler := range op.handlers {
		if handler.attempt != 0 && handler.attempt == op.attempt && s.hosts[handler.host].up() {
			return true
		}
	}
	return false
}

// endOperation ends an attempt of an operation: it is retried, or over.
func (s *state) endOperation(w *world, o int8, id outcomeID) {
	op := &s.ops[o]
	retry := w.retryable(id) || id == startToClose
	if !retry || op.canceled || op.attempt >= w.tries && o != opInfo || w.tryOnce && o != opInfo {
		op.status, op.outcome = settled, id
		return
	}
	op.status = scheduled
	if op.attempt < w.tries {
		op.attempt++
	} else {
		op.handlers = [2]handler{} // the model counts no further
	}
}

// arrive has a host take an operation's task.
func (w *world) arrive(s *state, o, h int8, out emit) {
	op, p := &s.ops[o], &s.hosts[h]
	to := *s
	to.ops[o].status = started
	to.ops[o].handlers = [2]handler{{host: h, attempt: op.attempt}, op.handlers[0]}
	in := w.rules.admit(admission{
		info: o == opInfo, otherBlock: p.block != op.block || p.input != op.queueRun, otherRun: op.run != p.input,
		serving: p.phase >= serving, otherInstance: op.instance != h, later: op.attempt > 1, anew: op.anew,
	})
	q := &to.hosts[h]
	if q.heard == heartbeat.HeardNothing && q.phase == listening {
		q.heard = in.said
	}
	if in.out == pending && op.run != p.input {
		to.broken = servedForeign
	}
	switch {
	case in.out != pending:
		to.ops[o].handlers[0].out = in.out
	case o == opClose:
		q.endBy(w.closedByBlock())
	case o != opInfo:
		e := &q.entries[o-opCall]
		if b := w.rules.begin(beginning{entry: *e, why: p.why}); b.runs {
			*e = b.entry
		}
	}
	out(progress, step{what: "operation # arrives at host %", a: o, b: h}, to)
}

// endBy is block.end: the first reason counts.
func (p *proc) endBy(why endingID) {
	if p.why == noEnding {
		p.why = why
	}
}

// deliverSteps are the answer of an attempt of an operation.
func (w *world) deliverSteps(s *state, o int8, i int, out emit) {
	op := &s.ops[o]
	handler := op.handlers[i]
	p := &s.hosts[handler.host]
	if !p.up() {
		return
	}
	answer := handler.out
	if answer == pending {
		switch {
		case o == opInfo && p.phase == serving && p.why == noEnding:
			answer = completed
		case o == opInfo && p.phase >= reporting:
			answer = w.rules.unopened(unopened{why: p.why, reason: failure.ReasonConnect})
		case o == opClose && p.phase >= reporting:
			answer = completed
		case o != opInfo && o != opClose && p.entries[o-opCall].step >= done:
			e := p.entries[o-opCall]
			answer = w.rules.deliver(delivery{entry: e, again: handler.attempt > 1})
		default:
			return
		}
	}
	to := *s
	to.ops[o].drop(i)
	if op.status == started && op.attempt == handler.attempt {
		if o == opInfo && answer == completed {
			to.ops[o].instance = handler.host
		}
		to.endOperation(w, o, answer)
	}
	out(progress, step{what: "host % answers operation #", a: o, b: handler.host}, to)
	if s.faults > 0 && op.status == started && op.attempt == handler.attempt {
		to = *s
		to.ops[o].drop(i)
		out(fault, step{what: "host %'s answer to operation # is lost", a: o, b: handler.host}, to)
	}
}

// drop forgets an attempt of an operation.
func (op *opRecord) drop(i int) {
	if i == 0 {
		op.handlers[0] = op.handlers[1]
	}
	op.handlers[1] = handler{}
}
