// Package interop proves that mcpsession works with MCP servers that its authors
// did not write: the examples of the Go SDK, the reference servers on the
// TypeScript and the Python SDK, over each transport that they speak, in processes
// of their own. [rows] is the table of them.
//
// The servers that are no Go programs are installed once, from pinned versions,
// into the user's cache directory. Without node or python3 their rows are skipped.
package interop

import (
	"os"
	"testing"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// roleVariable makes this binary something else than a test.
const roleVariable = "MCPSESSION_INTEROP_ROLE"

var server *launch.Server

func TestMain(m *testing.M) {
	transport.Lifeline() // as the README has it: real servers must do with it
	if os.Getenv(roleVariable) == "keeper" {
		keep()
		return
	}
	os.Exit(fixture.RunTests(m, &server))
}
