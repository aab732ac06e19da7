package transport

import (
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpsession/mcpsession/failure"
)

// The whole table, a row a kind of reply, a column a phase. What is not an error
// of the server's own never passes; what the server has not run is never unknown.
func TestJudge(t *testing.T) {
	t.Parallel()
	rpc := func(code int64, message string, answers bool) reply {
		return reply{rpc: &jsonrpc.Error{Code: code, Message: message}, answers: answers}
	}
	var (
		nothing     = reply{}
		unknown     = reply{text: "Bad Request: No valid session ID provided"}
		arguments   = rpc(jsonrpc.CodeInvalidParams, "invalid arguments: count must be a number", true)
		notMine     = rpc(-32000, "Bad Request: Unsupported protocol version", false)
		noMethod    = rpc(jsonrpc.CodeMethodNotFound, "method not found", true)
		gone        = rpc(-32001, "Session not found", false)
		goneMine    = rpc(-32001, "Session not found", true)
		goneNoWords = rpc(-32001, "see the log", true)
		toolsOwn    = rpc(jsonrpc.CodeInvalidParams, "unknown browser session 7", true)
	)
	const (
		no      = failure.RanNo
		maybe   = failure.RanUnknown
		sg      = failure.ReasonServerGone
		final   = true
		another = false
	)
	passes := verdict{action: pass}
	lost := verdict{lose, sg, no, false}
	asks := verdict{probe, sg, no, false}
	refuses := func(reason failure.Reason, ran failure.ToolRan, permanent bool) verdict {
		return verdict{refuse, reason, ran, permanent}
	}
	same := func(v verdict) [3]verdict { return [3]verdict{v, v, v} }
	ranUnlessOpening := func(reason failure.Reason) [3]verdict {
		return [3]verdict{refuses(reason, no, another), refuses(reason, maybe, another), refuses(reason, maybe, another)}
	}
	notFound, rejected := refuses(failure.ReasonNotFound, no, final), refuses(failure.ReasonRejected, no, final)

	for _, row := range []struct {
		status int
		reply  reply
		want   [3]verdict // opening, in a session, sessionless
	}{
		{200, nothing, same(passes)},
		{202, nothing, same(passes)},
		{200, reply{unusable: true}, ranUnlessOpening(failure.ReasonNoAnswer)},
		{200, arguments, same(passes)},
		{200, notMine, same(passes)},
		{200, goneMine, [3]verdict{passes, asks, passes}},
		{200, toolsOwn, [3]verdict{passes, asks, passes}},
		{200, goneNoWords, same(passes)},
		{200, reply{otherSession: true}, same(verdict{lose, sg, maybe, false})},

		{301, nothing, same(refuses(failure.ReasonRedirect, no, final))},
		{302, nothing, same(refuses(failure.ReasonRedirect, no, final))},
		{303, nothing, same(refuses(failure.ReasonRedirect, no, final))},
		{307, nothing, same(refuses(failure.ReasonRedirect, no, final))},
		{308, nothing, same(refuses(failure.ReasonRedirect, no, final))},

		{400, nothing, same(rejected)},
		{400, unknown, [3]verdict{rejected, lost, rejected}},
		{400, gone, [3]verdict{passes, lost, passes}},
		{400, goneMine, [3]verdict{passes, asks, passes}},
		{400, arguments, same(passes)},
		{400, notMine, same(passes)},
		{400, toolsOwn, [3]verdict{passes, asks, passes}},

		{401, nothing, same(refuses(failure.ReasonUnauthorized, no, final))},
		{401, arguments, same(refuses(failure.ReasonUnauthorized, no, final))},
		{403, nothing, same(refuses(failure.ReasonForbidden, no, final))},

		{404, nothing, [3]verdict{notFound, lost, notFound}},
		{404, reply{text: "404 page not found"}, [3]verdict{notFound, lost, notFound}},
		{404, gone, [3]verdict{notFound, lost, notFound}},
		{404, notMine, [3]verdict{notFound, lost, notFound}},
		{404, goneMine, [3]verdict{passes, lost, passes}},
		{404, goneNoWords, [3]verdict{passes, lost, passes}},
		{404, toolsOwn, [3]verdict{passes, lost, passes}},
		{404, noMethod, same(passes)},
		{404, arguments, same(passes)},

		{405, nothing, same(rejected)},
		{406, nothing, same(rejected)},
		{408, nothing, same(refuses(failure.ReasonRejected, no, another))},
		{410, nothing, [3]verdict{notFound, lost, notFound}},
		{410, gone, [3]verdict{notFound, lost, notFound}},
		{413, nothing, same(rejected)},
		{415, nothing, same(rejected)},
		{422, unknown, [3]verdict{rejected, lost, rejected}},
		{429, nothing, same(refuses(failure.ReasonRateLimited, no, another))},
		{429, notMine, same(refuses(failure.ReasonRateLimited, no, another))},

		{500, nothing, ranUnlessOpening(failure.ReasonServerError)},
		{500, arguments, same(passes)},
		{500, notMine, same(passes)},
		{501, nothing, ranUnlessOpening(failure.ReasonServerError)},
		{502, nothing, ranUnlessOpening(failure.ReasonGateway)},
		{503, nothing, same(refuses(failure.ReasonUnavailable, no, another))},
		{503, unknown, same(refuses(failure.ReasonUnavailable, no, another))},
		{504, nothing, ranUnlessOpening(failure.ReasonGateway)},
		{504, goneMine, ranUnlessOpening(failure.ReasonGateway)},
	} {
		row.reply.status = row.status
		for p, name := range []string{"opening", "in a session", "sessionless"} {
			said := row.reply.text
			if row.reply.rpc != nil {
				said = fmt.Sprintf("%d %s (answers: %v)", row.reply.rpc.Code, row.reply.rpc.Message, row.reply.answers)
			}
			if got := row.reply.judge(phase(p)); got != row.want[p] {
				t.Errorf("%d %q, %s: %+v, want %+v", row.status, said, name, got, row.want[p])
			}
		}
	}
}

// What servers in the field say of a session that they don't know, and what
// sounds alike.
func TestSaysUnknownSession(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"session not found":                              true, // Go SDK
		"Session not found":                              true, // TypeScript SDK, 404
		"Bad Request: No valid session ID provided":      true, // TypeScript and Python SDKs
		"Bad Request: Mcp-Session-Id header is required": true,
		"Bad Request: Server not initialized":            true, // TypeScript SDK after a restart
		"Not Found: Invalid or expired session ID":       true, // Python SDK
		"Not Found: Session has been terminated":         true,
		"Bad Request: Missing session ID":                true,
		"No transport found for sessionId":               true, // SSE examples
		"Could not find session":                         true, // Python SSE
		"session closed":                                 true, // Go SDK's SSE
		"session is closing":                             true,
		"Unknown session":                                true,
		"This session does not exist.":                   true,
		"":                                               false,
		"session user mismatch":                          false,
		"invalid arguments: count must be a number":      false,
		"no such table: sessions":                        false,
		"Accept must contain both 'application/json' and 'text/event-stream'": false,
		"Bad Request: Unsupported protocol version":                           false,
		"rejected by transport":                                               false,
		"method not found":                                                    false,
		"expired. A session is there":                                         false,
	} {
		if got := saysUnknownSession(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
