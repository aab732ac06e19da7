package interop

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// serverName is what the workflows of all rows call their server.
const serverName = "peer"

// A visit is one row's test.
type visit struct {
	*driver
	row
	mark string // see program

	// Over HTTP.
	site  *site
	front *front
}

// A sitting is an open block of a visit.
type sitting struct {
	*visit
	toolset.Info
	block string
}

// visit begins a visit to the row's server that asks for a version of MCP.
func (r row) visit(t *testing.T, version string) *visit {
	t.Helper()
	// This installs the server, or skips the test, before the test's time begins.
	p := r.run(&place{T: t, over: r.over})
	b := setup(t)
	if p.prepare != nil {
		p.prepare(b)
	}
	v := &visit{row: r, mark: p.mark}
	connect := b.connector(r.run)
	if r.over != stdio {
		v.site = b.site(r.over, r.run)
		v.front = v.site.front()
		connect = v.connector()
	}
	v.driver = b.drive(session.Server{Name: serverName, Connect: connect, ProtocolVersion: version}, r.talk)
	return v
}

// leave ends the visit, after which nothing of it is left.
func (v *visit) leave() {
	v.Helper()
	v.end()
	if v.site != nil {
		v.site.kill()
	}
	if left := fixture.Owned(rowVariable, v.taskQueue); len(left) > 0 {
		v.Errorf("processes of the row are left: %v", left)
	}
}

// converse has the whole conversation in one block and a part of it in another at
// the same time.
func (v *visit) converse() {
	v.Helper()
	first, second := v.open("first"), v.open(secondBlock)
	first.wantNegotiated()
	fresh := second.remembers()

	first.talk(0, rounds/2).must(nil)
	v.wantKept(fresh, first.remembers(), second.remembers())
	rest := first.talk(rounds/2, rounds)
	if v.keeps == beyond {
		rest.must(nil) // sessions that share their state needn't be safe at the same time
	}
	second.talk(0, 1).must(nil)
	if v.keeps != beyond {
		rest.must(nil)
	}

	if calls := first.close(); calls < rounds*callsPerRound {
		v.Errorf("the conversation had %d calls", calls)
	}
	second.close()
	if v.over == streamable {
		v.front.wantSessionClosed()
	}
}

// wantKept fails the test unless what a session left behind is where the row says.
func (v *visit) wantKept(fresh, own, others string) {
	v.Helper()
	switch {
	case v.keeps == nowhere:
		return
	case own == fresh:
		v.Errorf("the calls have left nothing behind: %s", own)
	case v.keeps == inSession && others != fresh:
		v.Errorf("another session sees %q of the first one's %q", others, own)
	case v.keeps == beyond && others != own:
		v.Errorf("another session sees %q, the first one %q", others, own)
	}
}

// The blocks that come to a site by its front.
const (
	secondBlock    = "second"
	restartedBlock = "restarted"
)

// A loss is a way in which the session of a block ends without the block's doing.
type loss struct {
	block  string
	strike func()
	mend   func() // makes a server run again, if none does
}

func (v *visit) losses() []loss {
	nothing := func() {}
	if v.site != nil {
		return []loss{
			{restartedBlock, func() { v.site.kill(); v.site.restart() }, nothing},
			{"killed", v.site.kill, v.site.restart},
		}
	}
	if !processesShow {
		return nil
	}
	return []loss{{"killed", func() { v.killServer("killed", v.mark) }, nothing}}
}

// lose loses a session between two calls, and opens another.
func (v *visit) lose(l loss) {
	v.Helper()
	lost := v.open(l.block)
	lost.talk(0, 1).must(nil)
	l.strike()
	v.wantServerGone(l.block+", the next call", lost.talk(1, 2).ends(nil))
	v.wantServerGone(l.block+", the block", lost.step("close", lost.block).ends(nil))
	if v.site == nil {
		v.wantNoProcess(lost.block)
	}
	if l.block == restartedBlock && v.over == streamable {
		v.Logf("the server that has come back said: %s", v.front.last())
	}
	l.mend()
	next := v.open("after-" + l.block)
	if next.Instance == lost.Instance {
		v.Errorf("%s: the next block has the session of the lost one", l.block)
	}
	next.talk(0, 1).must(nil)
	next.close()
}

func (v *visit) wantServerGone(when string, err error) {
	v.Helper()
	d, ok := failure.DedicatedWorker(err)
	if !ok || d.Reason != failure.ReasonServerGone || d.Server != serverName {
		v.Errorf("%s: the error is %v (%+v), want a DedicatedWorkerFailure with reason server-gone", when, err, d)
		return
	}
	v.Logf("%s: %.300s", when, err)
}

func (v *visit) open(block string) *sitting {
	v.Helper()
	s := &sitting{visit: v, block: block}
	v.step("open", block).must(&s.Info)
	return s
}

// wantNegotiated fails the test unless Info and the list of tools are what the
// server says to a client that has nothing of ours in it.
func (s *sitting) wantNegotiated() {
	s.Helper()
	var tools *mcp.ListToolsResult
	s.step("tools", s.block).must(&tools)
	said := s.ask()
	s.wantSame("answer to the handshake", said.initialize, s.Initialize)
	s.wantSame("tool list", said.tools, tools.Tools)

	version, of := s.Initialize.ProtocolVersion, s.Initialize.ServerInfo
	s.Logf("%s %s %q over %s: MCP %s, session id: %v, %d tools", s.server, of.Name, of.Version, s.over, version, s.HasSessionID, len(tools.Tools))
	if version != session.DefaultProtocolVersion || of.Name != s.name || of.Version != s.version || len(tools.Tools) != s.tools {
		s.Errorf("negotiated %s with %s %s, which has %d tools", version, of.Name, of.Version, len(tools.Tools))
	}
	if s.HasSessionID != (s.over == streamable) {
		s.Errorf("has a session id: %v", s.HasSessionID)
	}
}

func (s *sitting) talk(from, until int) *step {
	s.Helper()
	return s.step("talk", talking{s.block, from, until})
}

func (s *sitting) remembers() (state string) {
	s.Helper()
	s.step("remembers", s.block).must(&state)
	return state
}

// close closes the block, after which nothing of it is left, and returns how many
// calls it had.
func (s *sitting) close() (calls int) {
	s.Helper()
	s.step("close", s.block).must(&calls)
	if s.site == nil {
		s.wantNoProcess(s.block)
	}
	s.wantCalls(s.TaskQueue, calls)
	return calls
}
