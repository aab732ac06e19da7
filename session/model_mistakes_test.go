package session

import (
	"testing"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
)

// A mistake is one that is planted in one of the rules.
type mistake struct {
	in    config
	plant func(w *world, r *rules)
	want  invariant
	// otherwise says what else keeps the mistake from harm, where the model finds
	// none; a row below takes that away, too.
	otherwise string
	// far says that the way to it is long: it is looked for with -model.deep only.
	far bool
}

var (
	inABlock     = config{faults: 2, calls: 1, blocks: 1, tries: 2}
	inTwoBlocks  = config{faults: 1, calls: 2, blocks: 2, tries: 2}
	whereRetried = config{faults: 2, calls: 1, blocks: 1, tries: 2, retryTimeouts: true}
	whereTriedOn = config{faults: 2, calls: 0, blocks: 1, tries: 3, retryTimeouts: true}
	whereResent  = config{faults: 2, calls: 1, blocks: 1, tries: 2, sends: 2}
	whereLies    = config{faults: 2, calls: 1, blocks: 1, tries: 2, retryTimeouts: true, lying: true}
)

var mistakes = map[string]mistake{
	// May an attempt open?
	"may-be-open is ignored":          {in: inABlock, plant: finds(mayBeOpen, noMarker), want: openedOverMarker},
	"opened is ignored":               {in: whereRetried, plant: finds(opened, noMarker), want: openedOverMarker},
	"opened is taken for cleared":     {in: whereRetried, plant: finds(opened, cleared), want: openedOverMarker},
	"what can't be read is nothing":   {in: inABlock, plant: finds(garbled, noMarker), want: openedOverMarker},
	"the input's run is not compared": {in: inABlock, plant: decides(func(f *facts) { f.otherRun = false }), want: openedForeign},
	"an attempt that ran before without a trace does not listen": {in: whereRetried,
		plant: decides(func(f *facts) { f.ranBefore = false }), want: openedBeside},
	"silence is taken for a question": {in: whereRetried, plant: decides(func(f *facts) {
		if f.heard == heartbeat.HeardSilence {
			f.heard = heartbeat.HeardInfo
		}
	}), want: openedOverMarker},
	"a call is taken for a question": {in: whereRetried, plant: decides(func(f *facts) {
		if f.heard == heartbeat.HeardInstance {
			f.heard = heartbeat.HeardInfo
		}
	}), want: openedBeside, far: true},

	// What does describe say?
	"any attempt's marker confirms": {in: whereRetried, plant: func(w *world, r *rules) {
		confirm := r.confirm
		r.confirm = func(q reading) confirmation {
			q.attempt, q.author = q.token, q.token
			return confirm(q)
		}
	}, want: openedOverMarker},
	"a reset's first attempt is the first": {in: whereRetried, plant: func(w *world, r *rules) {
		confirm := r.confirm
		r.confirm = func(q reading) confirmation { q.rescheduled = false; return confirm(q) }
	}, want: openedBeside},
	"one look is enough for who listens": {in: whereRetried, plant: func(w *world, r *rules) { r.looksOnce = true }, want: openedOverMarker},

	// What does an attempt leave?
	"an attempt that was not let open leaves cleared": {in: whereTriedOn, plant: func(w *world, r *rules) { r.alwaysClears = true }, want: openedBeside, far: true},
	"a session that ends leaves cleared":              {in: whereRetried, plant: func(w *world, r *rules) { r.afterOpened = cleared }, want: openedBeside},
	"a lost session's activity is retried": {in: inABlock, plant: retriesLosses, want: holds,
		otherwise: "the next attempt finds the marker opened"},
	"a lost session's activity is retried, and leaves cleared": {in: inABlock, plant: func(w *world, r *rules) {
		retriesLosses(w, r)
		r.afterOpened = cleared
	}, want: openedBeside},
	"the lease is ignored": {in: inABlock, plant: func(w *world, r *rules) { r.unleased = true }, want: holds,
		otherwise: "the block was told that the tool of what is pending may have run, and schedules nothing more"},
	"the lease is ignored, and what is pending is told no": {in: inABlock, plant: func(w *world, r *rules) {
		r.unleased = true
		saysNo(w, r)
	}, want: saidNo},

	// Is an operation this session's?
	"the instance is not compared": {in: whereRetried, plant: admits(func(q *admission) { q.otherInstance = false }), want: servedByAnother, far: true},
	"the instance is not compared, and attempts don't listen": {in: whereLies, plant: func(w *world, r *rules) {
		admits(func(q *admission) { q.otherInstance = false })(w, r)
		decides(func(f *facts) { f.ranBefore = false })(w, r)
	}, want: servedByAnother},
	"the activity's run is not compared": {in: inABlock, plant: admits(func(q *admission) { q.otherRun = false }), want: servedForeign},
	"blocks share a queue": {in: inTwoBlocks, plant: func(w *world, r *rules) { r.keyed = false }, want: holds,
		otherwise: "the block of an operation is compared, too"},
	"blocks share a queue, and neither block nor instance is compared": {in: inTwoBlocks, plant: func(w *world, r *rules) {
		r.keyed = false
		admits(func(q *admission) { q.otherBlock, q.otherInstance = false, false })(w, r)
	}, want: openedBeside},
	"what is refused is told no": {in: inABlock, plant: admits(func(q *admission) { q.later, q.anew = false, false }), want: holds,
		otherwise: "no other session is there to have run it"},
	"what is refused is told no, even to another run": {in: inABlock, plant: func(w *world, r *rules) {
		admit := r.admit
		r.admit = func(q admission) admitted {
			if q.otherRun {
				q.otherRun, q.otherBlock = false, true
			}
			return admit(q)
		}
	}, want: saidNo},

	// May it be sent again?
	"a retry runs what still runs":           {in: inABlock, plant: begins(func(e ledgerEntry) bool { return e.step < done }), want: ranTwice},
	"a retry runs what was answered":         {in: inABlock, plant: begins(func(e ledgerEntry) bool { return e.step == done && e.out == completed }), want: ranTwice},
	"a retry runs what has no answer":        {in: inABlock, plant: begins(func(e ledgerEntry) bool { return e.step == done && e.out != completed }), want: ranTwice},
	"a forgotten result leaves no tombstone": {in: inABlock, plant: begins(func(e ledgerEntry) bool { return e.step == forgotten }), want: ranTwice},
	"what was sent and cut off is told no": {in: inABlock, plant: performs(func(q *performance) {
		if q.fate == cutSent {
			q.fate = cutUnsent
		}
	}), want: saidNo},
	"what was sent and timed out is told no": {in: inABlock, plant: performs(func(q *performance) {
		if q.fate == timedOutSent {
			q.fate = timedOutUnsent
		}
	}), want: saidNo},
	"what is not sent a second time is told no": {in: whereResent, plant: performs(func(q *performance) { q.resent = false }), want: saidNo},
	"what was not sent is told yes": {in: inABlock, plant: func(w *world, r *rules) {
		perform := r.perform
		r.perform = func(q performance) performed {
			p := perform(q)
			if q.fate == cutUnsent {
				p.out = w.failed(failure.New(failure.TypeCall, "", failure.Details{Reason: failure.ReasonForgotten, ToolRan: failure.RanYes}, nil))
			}
			return p
		}
	}, want: saidYes},

	// What does the workflow make of it?
	"Open waits for the session alone":  {in: inABlock, plant: hears(func(q *situation) bool { return q.stage == atOpen && q.info == pending }), want: hangs},
	"a call waits for its result alone": {in: inABlock, plant: hears(func(q *situation) bool { return q.stage == inCall && q.call == pending }), want: hangs},
	"Close waits for its answer alone": {in: inABlock, plant: hears(func(q *situation) bool {
		return q.stage == atClose && q.close == pending && q.later && q.lostBy == pending
	}), want: hangs},
	"what is pending when the session is lost is told no": {in: inABlock, plant: saysNo, want: saidNo},
	"what is pending at Close is told no": {in: inABlock, plant: func(w *world, r *rules) {
		workflow := r.workflow
		r.workflow = func(q situation) telling {
			told := workflow(q)
			if q.stage == inClose {
				told.out = w.saysNo()
			}
			return told
		}
	}, want: saidNo},
	"operations name the newest session": {in: whereLies, plant: func(w *world, r *rules) { r.namesNewest = true }, want: servedByAnother, far: true},
}

// finds makes the rule take one thing that an attempt finds for another.
func finds(found, taken markerID) func(*world, *rules) {
	return decides(func(f *facts) {
		if f.past == found {
			f.past = taken
		}
	})
}

func decides(see func(*facts)) func(*world, *rules) {
	return func(_ *world, r *rules) {
		decide := r.decide
		r.decide = func(f facts) verdict { see(&f); return decide(f) }
	}
}

func admits(see func(*admission)) func(*world, *rules) {
	return func(_ *world, r *rules) {
		admit := r.admit
		r.admit = func(q admission) admitted { see(&q); return admit(q) }
	}
}

// begins makes the ledger begin anew what is in it like that.
func begins(anew func(ledgerEntry) bool) func(*world, *rules) {
	return func(_ *world, r *rules) {
		begin := r.begin
		r.begin = func(q beginning) began {
			if q.entry.step != unknown && anew(q.entry) {
				q.entry = ledgerEntry{}
			}
			return begin(q)
		}
	}
}

func performs(see func(*performance)) func(*world, *rules) {
	return func(_ *world, r *rules) {
		perform := r.perform
		r.perform = func(q performance) performed { see(&q); return perform(q) }
	}
}

// hears makes the workflow wait on in some situations.
func hears(not func(*situation) bool) func(*world, *rules) {
	return func(_ *world, r *rules) {
		workflow := r.workflow
		r.workflow = func(q situation) telling {
			if not(&q) {
				return telling{waits: true}
			}
			return workflow(q)
		}
	}
}

// saysNo makes the session's end tell a pending call that its tool did not run.
func saysNo(w *world, r *rules) {
	workflow := r.workflow
	r.workflow = func(q situation) telling {
		told := workflow(q)
		if q.stage == inCall && q.call == pending {
			told.out = w.saysNo()
		}
		return told
	}
}

func (w *world) saysNo() outcomeID {
	return w.failed(lost(failure.ReasonHostLost, "").callErr(newModelAttempt(), modelTool, failure.RanNo))
}

func retriesLosses(w *world, r *rules) {
	ending := r.ending
	r.ending = func(e endingID) outcomeID {
		id := ending(e)
		if err := w.err(id); failure.IsDedicatedWorker(err) {
			return w.failed(failure.Rewrap(err))
		}
		return id
	}
}

// The model finds each mistake in a rule, or says what else keeps it from harm.
func TestModelFindsMistakes(t *testing.T) {
	t.Parallel()
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if m.far && !*deep {
				t.Skip("looked for with -model.deep")
			}
			w := newWorld(m.in)
			m.plant(w, &w.rules)
			x := w.explore()
			if x.found() != m.want {
				t.Errorf("found %q, want %q", x.found(), m.want)
			}
			if x.broken >= 0 {
				t.Logf("%d states%s", len(x.nodes), x.trace())
			} else {
				t.Logf("%d states, and no harm: %s", len(x.nodes), m.otherwise)
			}
		})
	}
}
