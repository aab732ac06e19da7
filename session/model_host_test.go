package session

import (
	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
)

// hostSteps are what an attempt does by itself, in the order of attempt.run.
func (w *world) hostSteps(s *state, h int8, out emit) {
	p := &s.hosts[h]
	if p.late != noMarker {
		to := *s
		to.hosts[h].late = noMarker
		if s.accepts(h) {
			to.record(h, p.late)
		}
		out(optional, step{what: "a late heartbeat of host # arrives", a: h}, to)
	}
	if p.life == paused {
		to := *s
		to.hosts[h].life = alive
		out(optional, step{what: "host # wakes", a: h}, to)
		to.hosts[h].lapsed = true
		out(optional, step{what: "host # wakes after its lease", a: h}, to)
	}
	if !p.up() {
		return
	}
	w.ownershipSteps(s, h, out)
	w.requestSteps(s, h, out)
	switch p.phase {
	case starting:
		w.decides(s, h, facts{otherRun: p.input != p.run, past: p.past}, out)
	case marking:
		to := *s
		if to.beat(w, h, mayBeOpen) {
			to.hosts[h].phase = confirming
		} else {
			to.hosts[h].giveUp(w, failure.ReasonMarker, reporting)
		}
		out(progress, step{what: "host # marks may-be-open", a: h}, to)
	case confirming, lookingAgain:
		w.confirms(s, h, out)
	case listening:
		w.listens(s, h, out)
	case connecting:
		w.connects(s, h, out)
	case markingOpened:
		to := *s
		q := &to.hosts[h]
		if to.beat(w, h, opened) {
			q.phase, q.polls = serving, true
		} else {
			q.phase = serving // only to end
		}
		out(progress, step{what: "host # marks opened", a: h}, to)
	case serving:
		w.ends(s, h, out)
	case clearing:
		to := *s
		to.beat(w, h, w.leaves(p))
		to.hosts[h].phase = reporting
		out(progress, step{what: "host # takes its marker back", a: h}, to)
	case reporting:
		w.reports(s, h, out)
	}
}

// leaves is what an attempt without a session leaves to the next.
func (w *world) leaves(p *proc) markerID {
	if p.mayOpen || w.rules.alwaysClears {
		return cleared
	}
	return p.past
}

// record is what the server does with a heartbeat that it accepts.
func (s *state) record(h int8, m markerID) {
	s.server.marker, s.server.author = m, s.hosts[h].token
	if m == noMarker {
		s.server.author = 0
	}
}

// beat sends a heartbeat and takes its answer; it reports whether the server has
// it and the host goes on.
func (s *state) beat(w *world, h int8, m markerID) bool {
	p := &s.hosts[h]
	p.marker = m
	if p.end > heartbeat.CancelRequested {
		return false
	}
	if !s.accepts(h) {
		p.disown(w, heartbeat.NotFound)
		return false
	}
	s.record(h, m)
	switch {
	case s.server.canceled:
		p.disown(w, heartbeat.CancelRequested)
	case s.server.reset:
		p.disown(w, heartbeat.Reset)
		return false
	}
	return true
}

func (p *proc) disown(w *world, end heartbeat.End) {
	if p.end <= heartbeat.CancelRequested {
		p.end = end
	}
	p.endBy(w.rules.disowned(end))
}

// ownershipSteps are beats that bring news, and the lease's end.
func (w *world) ownershipSteps(s *state, h int8, out emit) {
	p := &s.hosts[h]
	if p.phase == reported || p.end > heartbeat.CancelRequested {
		return
	}
	if p.lapsed {
		if w.rules.unleased {
			return
		}
		to := *s
		to.hosts[h].disown(w, heartbeat.LeaseLost)
		out(progress, step{what: "host #'s lease ends", a: h}, to)
		return
	}
	to := *s
	to.beat(w, h, p.marker)
	if to != *s {
		out(progress, step{what: "host # beats", a: h}, to)
	}
}

// decides asks the rule and does what it says.
func (w *world) decides(s *state, h int8, f facts, out emit) {
	to := *s
	p := &to.hosts[h]
	v := w.rules.decide(f)
	switch {
	case v.decision == heartbeat.Refuse:
		p.out, p.phase = v.out, reporting
		out(progress, step{what: "host # is refused", a: h}, to)
	case p.phase == starting:
		// The rule is asked again once the server has shown what it knows.
		p.phase = marking
		out(progress, step{what: "host # goes on to mark", a: h}, to)
	case v.decision == heartbeat.Listen:
		p.phase, p.polls = listening, true
		out(progress, step{what: "host # listens to its block", a: h}, to)
	case p.lapsed && !w.rules.unleased:
		p.disown(w, heartbeat.LeaseLost)
		out(progress, step{what: "host # finds that its lease has ended", a: h}, to)
	default:
		p.phase, p.mayOpen = connecting, true
		if !w.lying {
			to.broken = s.mayOpen(h)
		}
		out(progress, step{what: "host # may open", a: h}, to)
	}
}

// mayOpen says what does not hold when the attempt is let open now.
func (s *state) mayOpen(h int8) invariant {
	p := &s.hosts[h]
	earlier := s.server.author != p.token && (s.server.marker == mayBeOpen || s.server.marker == opened)
	switch {
	case p.past == mayBeOpen, p.past == opened, p.past == garbled, earlier:
		return openedOverMarker
	case p.input != p.run:
		return openedForeign
	case p.block == s.flow.block && s.flow.learned != nobody:
		return openedBeside
	}
	return holds
}

// reading is what describe says now.
func (s *state) reading(h int8) reading {
	r := &s.server
	p := &s.hosts[h]
	if r.status != scheduled && r.status != started || p.block != s.flow.block || p.run != s.run {
		return reading{token: p.token}
	}
	return reading{pending: true, attempt: r.attempt, token: p.token, marker: r.marker, author: r.author, failed: r.failed, rescheduled: r.rescheduled}
}

// confirms reads describe, once the marker is acknowledged and again after it has
// heard from its block.
func (w *world) confirms(s *state, h int8, out emit) {
	p := &s.hosts[h]
	if p.why != noEnding {
		to := *s
		to.hosts[h].giveUp(w, failure.ReasonMarker, clearing)
		out(progress, step{what: "host # ends before its marker is confirmed", a: h}, to)
		return
	}
	c := w.rules.confirm(s.reading(h))
	w.confirmed(s, h, c, progress, out)
	if w.lying && s.faults > 0 && c != firstTime {
		w.confirmed(s, h, firstTime, fault, out)
	}
}

func (w *world) confirmed(s *state, h int8, c confirmation, k kind, out emit) {
	to := *s
	p := &to.hosts[h]
	switch c {
	case notYet:
	case notPending:
		p.giveUp(w, failure.ReasonMarker, clearing)
		out(k, step{what: "host # sees by describe that it is not the running attempt", a: h}, to)
	default:
		if p.phase == confirming {
			p.ran = c == ranEarlier
		}
		w.decides(&to, h, facts{past: p.past, ranBefore: p.ran, heard: p.heard}, func(_ kind, what step, to state) { out(k, what, to) })
	}
}

// giveUp ends an attempt without a session.
func (p *proc) giveUp(w *world, reason failure.Reason, then phase) {
	p.out = w.rules.unopened(unopened{why: p.why, reason: reason})
	p.phase = then
}

func (w *world) listens(s *state, h int8, out emit) {
	p := &s.hosts[h]
	to := *s
	if p.why != noEnding {
		to.hosts[h].giveUp(w, failure.ReasonConnect, clearing)
		out(progress, step{what: "host # ends while it listens", a: h}, to)
		return
	}
	f := facts{past: p.past, ranBefore: p.ran, heard: p.heard}
	if p.heard == heartbeat.HeardInfo && !w.rules.looksOnce {
		to.hosts[h].phase = lookingAgain
		out(progress, step{what: "host # hears that its block asks for a session", a: h}, to)
		return
	}
	if p.heard != heartbeat.HeardNothing {
		w.decides(s, h, f, out)
		return
	}
	f.heard = heartbeat.HeardSilence
	w.decides(s, h, f, func(_ kind, what step, to state) {
		out(progress, step{what: "host # hears nothing: " + what.what, a: h}, to)
	})
}

func (w *world) connects(s *state, h int8, out emit) {
	to := *s
	p := &to.hosts[h]
	if p.why != noEnding {
		p.giveUp(w, failure.ReasonConnect, clearing)
		out(progress, step{what: "host # connects in vain: it has ended", a: h}, to)
		return
	}
	p.session, p.phase = true, markingOpened
	out(progress, step{what: "host # opens a session", a: h}, to)
	if s.faults > 0 {
		to = *s
		to.hosts[h].giveUp(w, failure.ReasonConnect, clearing)
		out(fault, step{what: "host # can't connect", a: h}, to)
	}
}

// requestSteps are the requests of operations on their way to the MCP server.
func (w *world) requestSteps(s *state, h int8, out emit) {
	p := &s.hosts[h]
	for c := range int8(maxCalls) {
		e := p.entries[c]
		to := *s
		q := &to.hosts[h]
		n := &q.entries[c]
		switch e.step {
		case begun:
			r := w.rules.perform(performance{end: p.end, lapsed: p.lapsed && !w.rules.unleased, why: p.why, resent: e.sends > 1})
			if r.why != noEnding {
				q.endBy(r.why)
			}
			if r.sends {
				n.step = passed
				out(progress, step{what: "host # finds that it owns its session, and has call % to send", a: h, b: c}, to)
			} else {
				n.finish(r)
				out(progress, step{what: "host # does not send call %", a: h, b: c}, to)
			}
		case passed, sent:
			if p.why != noEnding {
				how := cutUnsent
				if e.step == sent {
					how = cutSent
				}
				n.finish(w.rules.perform(performance{why: p.why, fate: how, resent: e.sends > 1}))
				out(progress, step{what: "host # cuts call % off", a: h, b: c}, to)
			}
			if e.step == sent {
				to = *s
				to.hosts[h].entries[c].finish(w.rules.perform(performance{}))
				out(progress, step{what: "host # has the result of call %", a: h, b: c}, to)
			} else if p.session {
				to = *s
				to.hosts[h].entries[c].step = sent
				to.ran[c]++
				if s.ops[opCall+c].learned != h {
					to.broken = servedByAnother
				}
				out(progress, step{what: "host # sends call %, and its tool runs", a: h, b: c}, to)
			}
		}
	}
}

func (e *ledgerEntry) finish(p performed) { e.step, e.out, e.again = done, p.out, p.again }

// ends is the end of a session that has a reason: requests first, then the server.
func (w *world) ends(s *state, h int8, out emit) {
	p := &s.hosts[h]
	if p.why == noEnding {
		return
	}
	for _, e := range p.entries {
		if e.step == begun || e.step == passed || e.step == sent {
			return
		}
	}
	to := *s
	q := &to.hosts[h]
	q.session, q.phase, q.out = false, reporting, w.rules.ending(p.why)
	if w.rules.afterOpened != opened {
		q.marker = w.rules.afterOpened
		if s.accepts(h) {
			to.record(h, q.marker)
		}
	}
	out(progress, step{what: "host # closes its session", a: h}, to)
}

func (w *world) reports(s *state, h int8, out emit) {
	p := &s.hosts[h]
	to := *s
	to.hosts[h].phase, to.hosts[h].polls = reported, false
	if s.accepts(h) {
		lost := to
		to.endAttempt(w, p.out)
		if s.faults > 0 {
			out(fault, step{what: "host #'s report of its end is lost", a: h}, lost)
		}
	}
	out(progress, step{what: "host # reports its end", a: h}, to)
}
