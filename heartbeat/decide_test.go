package heartbeat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/heartbeat"
)

// The whole table of the package comment: an attempt that finds a marker that
// refuses must be refused whatever else is true, since opening is what can't be
// undone.
func TestDecide(t *testing.T) {
	t.Parallel()
	author := heartbeat.Author{Attempt: 2, Host: "host-a"}
	none := heartbeat.Past{}
	cleared := heartbeat.Past{Marker: heartbeat.Cleared, Author: author}
	for name, tc := range map[string]struct {
		facts    heartbeat.Facts
		decision heartbeat.Decision
		reason   failure.Reason
	}{
		"first attempt":             {heartbeat.Facts{Past: none}, heartbeat.Open, ""},
		"cleared":                   {heartbeat.Facts{Past: cleared, RanBefore: true}, heartbeat.Open, ""},
		"cleared, block silent":     {heartbeat.Facts{Past: cleared, RanBefore: true, Heard: heartbeat.HeardSilence}, heartbeat.Open, ""},
		"ran before, no trace":      {heartbeat.Facts{RanBefore: true}, heartbeat.Listen, ""},
		"ran before, block asks":    {heartbeat.Facts{RanBefore: true, Heard: heartbeat.HeardInfo}, heartbeat.Open, ""},
		"ran before, block knows":   {heartbeat.Facts{RanBefore: true, Heard: heartbeat.HeardInstance}, heartbeat.Refuse, failure.ReasonReset},
		"ran before, block silent":  {heartbeat.Facts{RanBefore: true, Heard: heartbeat.HeardSilence}, heartbeat.Refuse, failure.ReasonReset},
		"may be open":               {heartbeat.Facts{Past: heartbeat.Past{Marker: heartbeat.MayBeOpen, Author: author}}, heartbeat.Refuse, failure.ReasonHostLost},
		"opened":                    {heartbeat.Facts{Past: heartbeat.Past{Marker: heartbeat.Opened, Author: author}}, heartbeat.Refuse, failure.ReasonHostLost},
		"opened, though block asks": {heartbeat.Facts{Past: heartbeat.Past{Marker: heartbeat.Opened}, Heard: heartbeat.HeardInfo}, heartbeat.Refuse, failure.ReasonHostLost},
		"undecodable":               {heartbeat.Facts{Past: heartbeat.Past{Err: errors.New("no key")}}, heartbeat.Refuse, failure.ReasonHostLost},
	} {
		facts := tc.facts
		facts.InputRunID, facts.RunID = "run", "run"
		verdict := heartbeat.Decide(facts)
		if verdict.Decision != tc.decision || verdict.Reason != tc.reason {
			t.Errorf("%s: %+v, want decision %v and reason %q", name, verdict, tc.decision, tc.reason)
		}
		if (verdict.Decision == heartbeat.Refuse) != (verdict.Message != "") {
			t.Errorf("%s: message %q", name, verdict.Message)
		}
		// In a run that did not open the block no other fact counts.
		facts.RunID = "another"
		verdict = heartbeat.Decide(facts)
		if verdict.Decision != heartbeat.Refuse || verdict.Reason != failure.ReasonWorkflowReset {
			t.Errorf("%s in another run: %+v", name, verdict)
		}
	}
}

func TestRefusalNamesTheAuthor(t *testing.T) {
	t.Parallel()
	verdict := heartbeat.Decide(heartbeat.Facts{Past: heartbeat.Past{
		Marker: heartbeat.Opened, Author: heartbeat.Author{Attempt: 2, Host: "host-a"},
	}})
	if !strings.Contains(verdict.Message, "attempt 2") || !strings.Contains(verdict.Message, "host-a") {
		t.Errorf("message %q names neither attempt nor host", verdict.Message)
	}
}
