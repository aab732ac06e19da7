package session

import (
	"github.com/mcpsession/mcpsession/failure"
)

// faults are all that can go wrong in a state, each of which counts as one.
func (w *world) faults(s *state, out emit) {
	for h := range int8(maxHosts) {
		if p := &s.hosts[h]; p.up() {
			w.hostFaults(s, h, out)
		}
	}
	w.operatorFaults(s, out)
	for o := range int8(maxOps) {
		w.operationFaults(s, o, out)
	}
	if c := s.pendingCall(); s.flow.stage == open && c < maxCalls {
		to := *s
		told := w.rules.workflow(situation{stage: inClose})
		to.flow.told[c] = told.out
		to.abandon(opCall + c)
		to.flow.stage = closing
		to.ops[opClose] = w.operation(s)
		out(fault, step{what: "the workflow closes the block while call # is pending", a: c}, to)
	}
}

func (w *world) hostFaults(s *state, h int8, out emit) {
	p := &s.hosts[h]
	to := *s
	to.hosts[h] = proc{phase: p.phase, life: dead, block: p.block, run: p.run, input: p.input, token: p.token, late: p.late}
	to.hosts[h].phase = reported
	for o := range to.ops {
		for i := len(to.ops[o].handlers) - 1; i >= 0; i-- {
			if gone := to.ops[o].handlers[i]; gone.attempt != 0 && gone.host == h {
				to.ops[o].drop(i)
			}
		}
	}
	out(fault, step{what: "host # crashes", a: h}, to)
	if p.phase == reported {
		return
	}
	to = *s
	to.hosts[h].life = paused
	out(fault, step{what: "host # is paused", a: h}, to)
	if !p.lapsed && p.phase != reported {
		to = *s
		to.hosts[h].lapsed = true
		out(fault, step{what: "no heartbeat of host # is acknowledged any more", a: h}, to)
	}
	switch p.phase {
	case starting:
		to = *s
		to.hosts[h].out, to.hosts[h].phase = w.rules.unopened(unopened{permanent: true, reason: failure.ReasonWorkerStopped}), reporting
		out(fault, step{what: "host # is about to stop and passes the session on", a: h}, to)
	case marking, clearing:
		w.markFaults(s, h, out)
	case markingOpened:
		to = *s
		to.hosts[h].late = opened
		to.hosts[h].phase = serving
		to.hosts[h].endBy(w.lost(failure.ReasonHostLost))
		out(fault, step{what: "host #'s opened marker is not acknowledged", a: h}, to)
	case serving:
		if p.why == noEnding {
			to = *s
			to.hosts[h].endBy(w.lost(failure.ReasonWorkerStopped))
			out(fault, step{what: "host #'s worker is stopped", a: h}, to)
			to = *s
			to.hosts[h].endBy(w.lost(failure.ReasonServerGone))
			to.hosts[h].session = false
			out(fault, step{what: "the MCP server of host # exits", a: h}, to)
		}
	}
	if p.phase == marking && s.server.marker != noMarker && s.accepts(h) {
		to = *s
		to.record(h, noMarker)
		out(fault, step{what: "host # beats before it has marked", a: h}, to)
	}
	for c := range int8(maxCalls) {
		w.callFaults(s, h, c, out)
	}
}

// markFaults are heartbeats whose request or answer is lost, or late.
func (w *world) markFaults(s *state, h int8, out emit) {
	p := &s.hosts[h]
	m, then := mayBeOpen, clearing
	if p.phase == clearing {
		m, then = w.leaves(p), reporting
	}
	to := *s
	q := &to.hosts[h]
	if p.phase == marking {
		q.giveUp(w, failure.ReasonMarker, then)
	}
	q.phase, q.marker = then, m
	out(fault, step{what: "host #'s marker is lost on its way", a: h}, to)
	if s.accepts(h) {
		answer := to
		answer.record(h, m)
		out(fault, step{what: "the answer to host #'s marker is lost", a: h}, answer)
	}
	q.late = m
	out(fault, step{what: "host #'s marker is late", a: h}, to)
}

// callFaults are a request that takes too long and a ledger that is full.
func (w *world) callFaults(s *state, h, c int8, out emit) {
	e := s.hosts[h].entries[c]
	to := *s
	n := &to.hosts[h].entries[c]
	switch {
	case e.step == passed || e.step == sent:
		how := timedOutUnsent
		if e.step == sent {
			how = timedOutSent
		}
		n.finish(w.rules.perform(performance{fate: how, resent: e.sends > 1}))
		out(fault, step{what: "the time of call % at host # passes", a: h, b: c}, to)
		if e.step == sent {
			n.finish(w.rules.perform(performance{fate: unanswered}))
			out(fault, step{what: "host # gets no usable answer to call %", a: h, b: c}, to)
		}
	case e.step == done && e.out == completed:
		n.step = forgotten
		out(fault, step{what: "host # forgets the result of call %", a: h, b: c}, to)
	}
}

// operatorFaults are what is done to the session activity and the workflow.
func (w *world) operatorFaults(s *state, out emit) {
	r := &s.server
	if r.status == started {
		to := *s
		to.endAttempt(w, startToClose)
		out(fault, step{what: "the session activity's start-to-close timeout passes"}, to)
	}
	if r.status == scheduled || r.status == started {
		for _, drop := range []bool{false, true} {
			to := *s
			n := &to.server
			n.attempt = 1
			what := "an operator resets the session activity and keeps its details"
			if drop {
				what = "an operator resets the session activity and drops its details"
			}
			if r.status == started {
				n.reset, n.drop = true, drop || r.drop
			} else {
				n.rescheduled, n.failed = true, false
				if drop {
					n.marker, n.author = noMarker, 0
				}
			}
			if to != *s {
				out(fault, step{what: what}, to)
			}
		}
		to := *s
		to.settleSession(completed)
		out(fault, step{what: "an operator completes the session activity"}, to)
	}
	if s.run == 0 && s.flow.stage != ended {
		w.resetWorkflow(s, out)
	}
}

// resetWorkflow resets the workflow to its last task: activities whose end it has
// not seen are dispatched again in the new run, with their old inputs.
func (w *world) resetWorkflow(s *state, out emit) {
	to := *s
	to.run++
	if to.server.status != absent {
		to.server = sessionRecord{status: scheduled, run: s.server.run, attempt: 1}
	}
	for o := range to.ops {
		if op := &to.ops[o]; op.status != absent && !op.canceled {
			*op = opRecord{status: scheduled, block: op.block, queueRun: op.queueRun, run: to.run, instance: op.instance, learned: op.learned, attempt: 1}
			if o == opInfo {
				op.instance = nobody
			}
		}
	}
	out(fault, step{what: "the workflow is reset"}, to)
}

func (w *world) operationFaults(s *state, o int8, out emit) {
	op := &s.ops[o]
	if op.status == started && s.answerable(op) {
		to := *s
		to.endOperation(w, o, startToClose)
		out(fault, step{what: "operation # times out", a: o}, to)
	}
	if !op.canceled && (op.status == scheduled || op.status == started) && (op.attempt > 1 || op.status == started) {
		to := *s
		to.ops[o].attempt, to.ops[o].anew = 1, true
		out(fault, step{what: "an operator resets operation #", a: o}, to)
		if op.status == started {
			// Its attempt notices, and the server retries it.
			to.ops[o].status, to.ops[o].attempt = scheduled, 2
			out(fault, step{what: "an operator resets operation #, and its attempt ends", a: o}, to)
		}
	}
}
