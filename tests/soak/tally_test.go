package soak

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A tally is what all runs have seen.
type tally struct {
	mu           sync.Mutex
	runs, blocks int
	calls        []called
	seen         []loss
	openFailures int
	wrong        []string

	losses      map[string]*told // by transport and reason
	duplicates  int
	answered    int
	unexplained []loss
}

// told is how losses of one kind were told.
type told struct {
	server  string
	reason  failure.Reason
	count   int
	longest time.Duration // from the fault to the caller's failure
}

func (t *tally) add(r *report, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs++
	if err != nil {
		t.wrong = append(t.wrong, fmt.Sprintf("a run failed: %v", err))
		return
	}
	t.blocks += r.Blocks
	t.calls = append(t.calls, r.Calls...)
	t.seen = append(t.seen, r.Losses...)
	t.openFailures += len(r.OpenFailures)
	t.wrong = append(append(t.wrong, r.Wrong...), r.Odd...)
}

// progress says now and then how far it is.
func (t *tally) progress(ctx context.Context, to *testing.T) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Second):
			t.mu.Lock()
			to.Logf("%d runs, %d blocks, %d calls, %d losses, %d blocks that did not open, %d wrong",
				t.runs, t.blocks, len(t.calls), len(t.seen), t.openFailures, len(t.wrong))
			t.mu.Unlock()
		}
	}
}

// check compares what the callers were told with what the sessions noted.
func (t *tally) check(log string, acts []act) {
	ran := make(map[string][]string) // the sessions that ran a call
	for _, line := range fixture.Lines(log) {
		call, session, _ := strings.Cut(line, " ")
		ran[call] = append(ran[call], session)
	}
	for _, c := range t.calls {
		sessions := ran[c.Call]
		times := len(sessions)
		if times > 1 {
			t.duplicates++
			t.wrong = append(t.wrong, fmt.Sprintf("call %s ran %d times", c.Call, times))
		}
		if times > 0 && c.Session != "" && sessions[0] != c.Session {
			t.wrong = append(t.wrong, fmt.Sprintf("call %s ran in session %s, not in %s", c.Call, sessions[0], c.Session))
		}
		switch {
		case c.Answered:
			t.answered++
			if times == 0 {
				t.wrong = append(t.wrong, fmt.Sprintf("call %s was answered and did not run", c.Call))
			}
		case c.Ran == failure.RanNo && times > 0, c.Ran == failure.RanYes && times == 0, c.Ran == "":
			t.wrong = append(t.wrong, fmt.Sprintf("call %s ran %d times; its caller was told %q", c.Call, times, c.Ran))
		}
	}
	for _, l := range t.seen {
		of := t.losses[l.Server+string(l.Reason)]
		if of == nil {
			of = &told{server: l.Server, reason: l.Reason}
			t.losses[l.Server+string(l.Reason)] = of
		}
		of.count++
		if fault := last(acts, l); fault != nil {
			of.longest = max(of.longest, l.Seen.Sub(fault.at))
		} else {
			t.unexplained = append(t.unexplained, l)
		}
	}
}

// last returns the last fault that explains a loss; nil if none does.
func last(acts []act, l loss) *act {
	for _, a := range slices.Backward(acts) {
		if a.explains(l) {
			return &a
		}
	}
	return nil
}

// targets are how soon a loss is to be told.
var targets = map[failure.Reason]time.Duration{
	failure.ReasonServerGone:    time.Second,
	failure.ReasonWorkerStopped: time.Second,
	failure.ReasonHostLost:      heartbeatTimeout + firstRetryInterval + time.Second,
}

func (t *tally) print(to *testing.T, acts []act, leaks int) {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "blocks\t%d, and %d that did not open\n", t.blocks, t.openFailures)
	fmt.Fprintf(table, "calls\t%d, of which %d were answered\n", len(t.calls), t.answered)
	count := make(map[string]int)
	for _, a := range acts {
		count[a.what]++
	}
	for _, what := range []string{killHost, terminateHost, pauseHost, killServer, restartHTTP} {
		fmt.Fprintf(table, "%s\t%d\n", what, count[what])
	}
	kinds := make([]string, 0, len(t.losses))
	for kind := range t.losses {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		l := t.losses[kind]
		verdict := "met"
		if l.longest > targets[l.reason] {
			verdict = "MISSED"
		}
		fmt.Fprintf(table, "losses: %s over %s\t%d, told after %v at most (≤ %v: %s)\n",
			l.reason, l.server, l.count, l.longest.Round(time.Millisecond), targets[l.reason], verdict)
	}
	fmt.Fprintf(table, "losses without a fault of ours\t%d\n", len(t.unexplained))
	fmt.Fprintf(table, "wrong answers\t%d\n", len(t.wrong)-t.duplicates)
	fmt.Fprintf(table, "duplicates\t%d\n", t.duplicates)
	fmt.Fprintf(table, "leaks\t%d\n", leaks)
	_ = table.Flush()
	for _, l := range t.unexplained {
		fmt.Fprintf(&out, "unexplained: %+v\n", l)
	}
	to.Logf("the soak of %v:\n%s", *duration, &out)
}
