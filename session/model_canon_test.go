package session

import "github.com/mcpsession/mcpsession/failure"

// forget takes out of a state what nothing can depend on any more, so that states
// that differ in it are one.
func (s *state) forget(w *world) {
	for c := range s.flow.told {
		s.flow.told[c] = w.asTold(s.flow.told[c])
	}
	s.flow.lostBy, s.flow.closed = w.asTold(s.flow.lostBy), w.asTold(s.flow.closed)
	for o := range s.ops {
		op := &s.ops[o]
		if op.status == settled {
			// No host gets it again, and the server takes no further answer to it.
			op.handlers = [2]handler{}
			op.run, op.queueRun, op.attempt, op.anew = 0, 0, 0, false
			if call := o - opCall; call >= 0 && call < maxCalls && s.flow.told[call] != waiting {
				op.outcome = pending
			}
		}
		if op.status == started && op.canceled && !s.answers(op) && !s.sends(o) {
			*op = opRecord{status: settled, instance: op.instance, learned: op.learned, canceled: true}
		}
	}
	if s.server.status == settled {
		s.server = sessionRecord{status: settled, author: s.server.author, canceled: s.server.canceled, outcome: s.server.outcome}
		s.server.author = 0
	}
	for h := range s.hosts {
		if p := &s.hosts[h]; p.phase != unused {
			s.forgetHost(int8(h), p)
		}
	}
}

func (s *state) forgetHost(h int8, p *proc) {
	if p.late != noMarker && (p.block != s.flow.block || p.run != s.run || s.server.status == settled || s.server.status == absent) {
		p.late = noMarker
	}
	for c := range p.entries {
		e := &p.entries[c]
		if s.ops[opCall+c].status == settled && e.step >= done {
			*e = ledgerEntry{}
		}
	}
	if p.phase > connecting && p.phase != clearing {
		p.past, p.heard, p.ran, p.mayOpen = noMarker, 0, false, false
	}
	if p.phase == reported {
		p.out, p.marker, p.end, p.lapsed = pending, noMarker, 0, false
	}
	if p.life == dead || p.phase == reported && !s.hasHandlers(h) {
		*p = proc{phase: reported, life: dead, block: p.block, run: p.run, token: p.token, late: p.late}
		if p.late == noMarker {
			*p = proc{phase: reported, life: dead}
			if !s.named(h) {
				*p = proc{}
			}
		}
	}
}

// answers reports whether an attempt of the operation runs in a host.
func (s *state) answers(op *opRecord) bool { return op.handlers[0].attempt != 0 }

// sends reports whether a host may still send an operation's request.
func (s *state) sends(o int) bool {
	c := o - opCall
	if c < 0 || c >= maxCalls {
		return false
	}
	for h := range s.hosts {
		if step := s.hosts[h].entries[c].step; step == begun || step == passed || step == sent {
			return true
		}
	}
	return false
}

func (s *state) hasHandlers(h int8) bool {
	for o := range s.ops {
		for _, handler := range s.ops[o].handlers {
			if handler.attempt != 0 && handler.host == h {
				return true
			}
		}
	}
	return false
}

// named reports whether something names the host's instance.
func (s *state) named(h int8) bool {
	if s.flow.learned == h {
		return true
	}
	for o := range s.ops {
		if op := &s.ops[o]; (op.instance == h || op.learned == h) && (op.status == scheduled || op.status == started || op.outcome != pending) {
			return true
		}
	}
	return false
}

// asTold is the outcome that stands for all that tell a workflow the same.
func (w *world) asTold(id outcomeID) outcomeID {
	if id == notMade || id == waiting || id == completed {
		return id
	}
	k := telltale{failure.IsDedicatedWorker(w.err(id)), w.tells[id]}
	if w.told[k] == 0 {
		w.told[k] = id
	}
	return w.told[k]
}

// A telltale is what the model's workflow goes by.
type telltale struct {
	lost bool
	ran  failure.ToolRan
}
