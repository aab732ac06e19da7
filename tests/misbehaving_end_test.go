package tests

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A server that misbehaves when it is closed: Close returns without an error all the
// same, and when it does no process of the server is left, save one that has left
// its group: that takes a lifeline.
func TestServerMisbehavesAtClose(t *testing.T) {
	t.Parallel()
	hang := fixture.Act{Hang: true}
	for name, test := range map[string]struct {
		script fixture.Script
		fork   string // what it starts: see fixture.Act
	}{
		"exits with a status":                        {script: fixture.Script{End: []fixture.Act{{Mutter: "dirty\n", Exit: exit(7)}}}},
		"takes its time":                             {script: fixture.Script{End: []fixture.Act{{Sleep: time.Second}}}},
		"writes to the last":                         {script: fixture.Script{End: []fixture.Act{{Say: "bye\n", Mutter: "bye\n", Times: 50_000}}}},
		"ignores the end of its input":               {script: fixture.Script{End: []fixture.Act{hang}}},
		"ignores that and SIGTERM":                   {script: fixture.Script{End: []fixture.Act{hang}, IgnoreTERM: true}},
		"leaves a process that holds its pipes":      {fork: "group"},
		"leaves one that is in a session of its own": {fork: "session"},
		"ignores all and leaves a process":           {script: fixture.Script{End: []fixture.Act{hang}, IgnoreTERM: true}, fork: "group"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			note := t.TempDir() + "/forked"
			if test.fork != "" {
				test.script.Start = append(test.script.Start, fixture.Act{Fork: test.fork, Note: note})
			}
			d := setupScript(t, test.script, 0, 0)
			block := d.open()
			block.must("fine")
			if err := block.close(); err != nil {
				t.Error(err)
			}
			forked := notes(note)
			if test.fork == "session" {
				pid, err := strconv.Atoi(forked[0])
				if err != nil {
					t.Fatal(err)
				}
				if gone(pid) {
					t.Error("the process that has left the group did not outlive the session: what does this show?")
				}
				if err := kill(pid); err != nil {
					t.Error(err)
				}
				d.awaitGone(pid)
			}
			// What was sent SIGKILL is on its way out.
			d.eventually("no process is left", func() bool { return len(d.processes()) == 0 })
			d.wantConnects("here")
		})
	}
}

// A server that ends its session while nobody calls, in another way than by being
// killed: the loss is told at once, with its status and its last words, and is the
// block's.
func TestServerMisbehavesWhileIdle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		act   fixture.Act
		words []string
	}{
		"exits with a status":            {fixture.Act{Mutter: "lease expired\n", Exit: exit(9)}, []string{"exited with status 9", "lease expired"}},
		"closes its stdout and lives on": {fixture.Act{Close: "stdout", Hang: true}, []string{"closed its stdout and did not exit within 1s"}},
		"sends a message of 30 MB":       {fixture.Act{Say: `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"$fill"}}` + "\n", Fill: 30 << 20}, []string{"more than 16777216 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := t.TempDir() + "/now"
			act := test.act
			act.Await = now
			d := setupScript(t, at(misbehaves, fixture.Act{Say: "$good"}, act), 0, 0)
			block := d.open()
			block.must(misbehaves)
			if err := fixture.AppendLine(now, "now"); err != nil {
				t.Fatal(err)
			}
			d.awaitSessionEnd(d.run)
			err := block.callUnscheduled()
			d.wantLoss(err, failure.ReasonServerGone, failure.RanNo)
			mentions(t, err.Error(), test.words...)
			d.wantLoss(block.close(), failure.ReasonServerGone, "")
			d.wantConnects("here")
		})
	}
}

// A server that misbehaves while its tool list is read, page by page: the list fails,
// whole, and in bounded time.
func TestServerMisbehavesInAList(t *testing.T) {
	t.Parallel()
	page := func(cursor string) fixture.Act {
		return answer(fmt.Sprintf(`"result":{"tools":[],"nextCursor":%q}`, cursor))
	}
	t.Run("exits between two pages", func(t *testing.T) {
		t.Parallel()
		listed, called := listing(t, at("tools/list", page("2"), fixture.Act{Exit: exit(6)}))
		if listed.Type != failure.TypeDedicatedWorker || listed.Details.Reason != failure.ReasonServerGone {
			t.Errorf("the list ended with %+v", listed)
		}
		mentions(t, listed.Text, "exited with status 6")
		if called.Type != failure.TypeDedicatedWorker || called.Ran != failure.RanNo {
			t.Errorf("the call after it ended with %+v", called)
		}
	})
	for name, test := range map[string]struct {
		page fixture.Act
		word string
	}{
		"has pages without end":  {page("after-$id"), "more than 1000 pages"},
		"has a page that's none": {answer(`"result":{"tools":5}`), "no usable answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listed, called := listing(t, at("tools/list", test.page))
			if listed.Type != failure.TypeCall || listed.Details.Reason != failure.ReasonNoAnswer {
				t.Errorf("the list ended with %+v", listed)
			}
			mentions(t, listed.Text, test.word)
			if called.Type != "" {
				t.Errorf("the call after it ended with %+v", called)
			}
		})
	}
}
