package toolsettest

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpsession/mcpsession/failure"
)

// A plan is a fault that is to happen. One that has not when the test ends fails the
// test: it tests nothing.
type plan interface {
	// pending says what has not happened; it is empty when all has.
	pending() string
	// where is the line that planned it.
	where() string
}

// A place is a line of a test.
type place string

// caller returns the place that has called the caller of this function.
func caller() place {
	_, file, line, ok := runtime.Caller(2)
	if !ok {
		return "?"
	}
	return place(fmt.Sprintf("%s:%d", filepath.Base(file), line))
}

func (p place) where() string { return string(p) }

func (k *Kit) plan(p plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults = append(k.faults, p)
}

func (k *Kit) checkHappened() {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.faults {
		if what := p.pending(); what != "" {
			k.t.Errorf("toolsettest: planned at %s: %s", p.where(), what)
		}
	}
}

// A timeFault is a loss at a time.
type timeFault struct {
	place
	server   string
	reason   failure.Reason
	at       time.Duration
	happened bool
}

func (f *timeFault) pending() string {
	if f.happened {
		return ""
	}
	return fmt.Sprintf("the loss (%s) that was planned for the sessions of server %q at %v did not happen: none was open then", f.reason, f.server, f.at)
}

// LoseAt plans that all sessions of a server which are open at a time of the workflow's
// clock, counted from its start, are lost then, for one of the reasons of a
// DedicatedWorkerFailure. Call it before the workflow runs.
func (k *Kit) LoseAt(server string, at time.Duration, reason failure.Reason) {
	k.t.Helper()
	k.known(server)
	k.checkReason(reason, lossReasons)
	if at <= 0 {
		k.t.Fatalf("toolsettest: LoseAt: the time is %v; it is counted from the workflow's start, and more than zero", at)
	}
	f := &timeFault{place: caller(), server: server, reason: reason, at: at}
	k.plan(f)
	k.after(at, func() {
		k.mu.Lock()
		sessions := slices.Clone(k.sessions)
		k.mu.Unlock()
		for _, s := range sessions {
			if s.server.Name == server && !s.ended() {
				k.mu.Lock()
				f.happened = true
				k.mu.Unlock()
				s.loseNow(reason, planned)
			}
		}
	})
}

// planned is what failures say that a test has planned.
const planned = "as the test has planned"

// An OpenFault is what a test has planned for an attempt to open a server.
type OpenFault struct {
	kit *Kit
	place
	server string
	from   int
	times  int
	reason failure.Reason
	left   int
}

// OnOpen plans a fault for the n-th attempt, from 1, to open the server, for a session
// or for a connection of stateless calls: a block makes up to three
// (toolset.DefaultOpenAttempts).
func (k *Kit) OnOpen(server string, n int) *OpenFault {
	k.t.Helper()
	k.known(server)
	if n < 1 {
		k.t.Fatalf("toolsettest: OnOpen: the attempt is %d; they are counted from 1", n)
	}
	f := &OpenFault{kit: k, place: caller(), server: server, from: n}
	k.plan(f)
	return f
}

// Refuse makes so many attempts fail, for one of the reasons of an OpenFailure. Those
// that another attempt may mend (connect, connect-timeout, marker-unconfirmed,
// unavailable, rate-limited, unreachable, gateway, server-error) are tried again, as on
// a worker; with others Open fails at once. Of a session, host-lost is told when its
// heartbeat timeout has passed on the workflow's clock, and no-host at once.
func (f *OpenFault) Refuse(reason failure.Reason, times int) {
	k := f.kit
	k.t.Helper()
	if times < 1 {
		k.t.Fatalf("toolsettest: Refuse: %d times; once at least", times)
	}
	if reason == "" {
		k.t.Fatalf("toolsettest: Refuse: the reason is empty; use one of an OpenFailure, such as failure.ReasonConnect")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	f.reason, f.times, f.left = reason, times, times
}

func (f *OpenFault) pending() string {
	switch {
	case f.times == 0:
		return fmt.Sprintf("OnOpen(%q, %d) has no effect; call Refuse on it", f.server, f.from)
	case f.left > 0:
		return fmt.Sprintf("of the refusals (%s) of attempts %d to %d to open server %q, %d did not happen; attempts: %d",
			f.reason, f.from, f.from+f.times-1, f.server, f.left, f.kit.servers[f.server].openings)
	}
	return ""
}

// nextOpening counts an attempt to open the server, and returns what is planned for it.
func (sv *server) nextOpening() *OpenFault {
	k := sv.kit
	k.mu.Lock()
	defer k.mu.Unlock()
	sv.openings++
	for _, p := range k.faults {
		if f, ok := p.(*OpenFault); ok && f.server == sv.Name && f.from <= sv.openings && sv.openings < f.from+f.times {
			f.left--
			return f
		}
	}
	return nil
}

// lossReasons are those for which a session is lost.
var lossReasons = []failure.Reason{
	failure.ReasonHostLost, failure.ReasonWorkerStopped, failure.ReasonServerGone, failure.ReasonReset, failure.ReasonIdle,
	failure.ReasonExpired, failure.ReasonDedicatedWorker,
}

func (k *Kit) checkReason(reason failure.Reason, allowed []failure.Reason) {
	k.t.Helper()
	if !slices.Contains(allowed, reason) {
		names := make([]string, 0, len(allowed))
		for _, r := range allowed {
			names = append(names, string(r))
		}
		k.t.Fatalf("toolsettest: the reason %q is none of this fault; use one of %s", reason, strings.Join(names, ", "))
	}
}

// ranOnRefusal says for each reason that a server over HTTP gives whether the tool ran.
var ranOnRefusal = map[failure.Reason]failure.ToolRan{
	failure.ReasonUnauthorized: failure.RanNo, failure.ReasonForbidden: failure.RanNo, failure.ReasonNotFound: failure.RanNo,
	failure.ReasonRateLimited: failure.RanNo, failure.ReasonUnavailable: failure.RanNo, failure.ReasonRejected: failure.RanNo,
	failure.ReasonRedirect: failure.RanNo, failure.ReasonUnreachable: failure.RanNo,
	failure.ReasonGateway: failure.RanUnknown, failure.ReasonServerError: failure.RanUnknown,
}

func refusalReasons() []failure.Reason { return slices.Sorted(maps.Keys(ranOnRefusal)) }
