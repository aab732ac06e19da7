package interop

import (
	"testing"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
)

// modern is the version of MCP that has no sessions over HTTP.
const modern = "2026-07-28"

// sessionless is in place of a version where a block must not open.
const sessionless = ""

// What servers make of a client that asks for the modern version: some answer with
// the one before, some speak it. Over stdio the process keeps the state whatever is
// spoken; over HTTP those that speak it keep nothing, without a word, and a block
// does not open on them.
func TestInteropModernVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server string
		over   transportKind
		speaks string
	}{
		{"go-memory", stdio, modern},
		{"go-memory", streamable, session.DefaultProtocolVersion},
		{"npm-everything", stdio, session.DefaultProtocolVersion},
		{"npm-everything", streamable, session.DefaultProtocolVersion},
		{"python-counter", stdio, modern},
		{"python-counter", streamable, sessionless},
		{"python-v1-counter", stdio, session.DefaultProtocolVersion},
		{"python-v1-counter", streamable, session.DefaultProtocolVersion},
	} {
		t.Run(c.server+"/"+string(c.over), func(t *testing.T) {
			t.Parallel()
			v := rowOf(t, c.server, c.over).visit(t, modern)
			defer v.leave()
			if c.speaks == sessionless {
				v.wantSessionless()
				return
			}
			block := v.open("only")
			version := block.Initialize.ProtocolVersion
			v.Logf("%s over %s, asked for %s: MCP %s, session id: %v", c.server, c.over, modern, version, block.HasSessionID)
			if version != c.speaks || block.HasSessionID != (c.over == streamable) {
				v.Errorf("negotiated %s, session id: %v; want %s", version, block.HasSessionID, c.speaks)
			}
			block.talk(0, 2).must(nil)
			block.close()
		})
	}
}

func rowOf(t *testing.T, server string, over transportKind) row {
	t.Helper()
	for _, r := range rows {
		if r.server == server && r.over == over {
			return r
		}
	}
	t.Fatalf("there is no row of %s over %s", server, over)
	return row{}
}

func (v *visit) wantSessionless() {
	v.Helper()
	err := v.step("open", "only").ends(nil)
	if d, ok := failure.Open(err); !ok || d.Reason != failure.ReasonSessionless {
		v.Errorf("the error is %v (%+v), want an OpenFailure with reason sessionless", err, d)
		return
	}
	v.Logf("%s over %s, asked for %s: %.300s", v.server, v.over, modern, err)
}
