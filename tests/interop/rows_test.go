package interop

import (
	"testing"

	"github.com/mcpsession/mcpsession/session"
)

// A keeping says where a server keeps what calls leave behind.
type keeping int

const (
	// inSession: in the session, and no other session sees it.
	inSession keeping = iota
	// beyond: in a file or in the process of an HTTP server, where all sessions
	// find it.
	beyond
	// nowhere: the tools change nothing.
	nowhere
)

// A row is a server over one transport.
type row struct {
	server string
	over   transportKind
	run    func(*place) program
	keeps  keeping
	talk   func(*speaker) conversation

	// name and version are the server's own, and tools is how many it has.
	name, version string
	tools         int
}

var (
	goEverything  = example("everything")
	goMemory      = example("memory")
	everythingNPM = everythingOfNpm(npm("server-everything"))
	everythingNPX = everythingOfNpm(npx("server-everything"))
	memoryNPM     = memoryOfNpm
	thinkingNPM   = npm("server-sequential-thinking")
	pythonCounter = counter(pythonPackages)
	oldCounter    = counter(pythonV1Packages)
)

// What is true of all: they speak the last version of MCP that has sessions over
// HTTP, and streamable HTTP gives a session id, which the others don't.
var rows = []row{
	// The Go SDK's examples.
	{"go-everything", stdio, goEverything, nowhere, greetings, "everything", "", 10},
	{"go-everything", streamable, goEverything, nowhere, greetings, "everything", "", 10},
	{"go-memory", stdio, goMemory, inSession, links, "memory", "", 9},
	{"go-memory", streamable, goMemory, beyond, links, "memory", "", 9},
	// The reference servers on the TypeScript SDK.
	{"npm-everything", stdio, everythingNPM, inSession, sums, "mcp-servers/everything", "2.0.0", 13},
	{"npm-everything-by-npx", stdio, everythingNPX, inSession, sums, "mcp-servers/everything", "2.0.0", 13},
	{"npm-everything", streamable, everythingNPM, inSession, sums, "mcp-servers/everything", "2.0.0", 13},
	{"npm-everything", sse, everythingNPM, inSession, sums, "mcp-servers/everything", "2.0.0", 13},
	{"npm-memory", stdio, memoryNPM, beyond, links, "memory-server", "0.6.3", 9},
	{"npm-filesystem", stdio, filesystem, beyond, files, "secure-filesystem-server", "0.2.0", 14},
	{"npm-sequential-thinking", stdio, thinkingNPM, inSession, thoughts, "sequential-thinking-server", "2026.8.31", 1},
	// The Python SDK, in both of its generations.
	{"python-counter", stdio, pythonCounter, inSession, counts, "counter", "7.8.9", 4},
	{"python-counter", streamable, pythonCounter, inSession, counts, "counter", "7.8.9", 4},
	{"python-counter", sse, pythonCounter, inSession, counts, "counter", "7.8.9", 4},
	{"python-git", stdio, gitServer, beyond, commits, "mcp-git", "2026.10.19", 12},
	{"python-v1-counter", stdio, oldCounter, inSession, counts, "counter", "1.30.0", 4},
	{"python-v1-counter", streamable, oldCounter, inSession, counts, "counter", "1.30.0", 4},
	{"python-v1-counter", sse, oldCounter, inSession, counts, "counter", "1.30.0", 4},
	{"python-v1-sqlite", stdio, sqlite, inSession, tables, "sqlite", "0.1.0", 6},
}

// Fifty calls of which each depends on the answers to those before it reach one
// session of a server that knows nothing of us, each in one attempt; two sessions
// at the same time don't meet; a server that is killed, or that comes back without
// its sessions, is told of as lost by the next call and by the block, and a new
// block opens; and no process is left.
func TestInterop(t *testing.T) {
	t.Parallel()
	for _, r := range rows {
		t.Run(r.server+"/"+string(r.over), func(t *testing.T) {
			t.Parallel()
			v := r.visit(t, session.DefaultProtocolVersion)
			v.converse()
			for _, loss := range v.losses() {
				v.lose(loss)
			}
			v.leave()
		})
	}
}
