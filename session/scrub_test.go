package session

import (
	"errors"
	"testing"
)

// The MCP SDK's errors, and what servers say, without what may be a credential; and
// texts that only sound alike, as they are.
func TestScrubbed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`sending "tools/call": failed to connect (session ID: 7HXAOGSTWBLVRHCB3KDHTXK2OM): session not found`:                          `sending "tools/call": failed to connect (session ID: [redacted]): session not found`,
		`standalone SSE stream: failed to reconnect (session ID: ABCDEFGHIJKLMNOPQRSTUVWXYZ): connection failed after 5 attempts: EOF`: `standalone SSE stream: failed to reconnect (session ID: [redacted]): connection failed after 5 attempts: EOF`,
		`mismatching session IDs "first-of-two" and "second-of-two"`:                                                                   `mismatching session IDs "[redacted]"`,
		`session "7c0b1c0e-3f5e-4c3f-9d55-3ad8a1d0a3f1" not found`:                                                                     `session "[redacted]" not found`,
		`Session 7c0b1c0e-3f5e-4c3f-9d55-3ad8a1d0a3f1 not found`:                                                                       `Session [redacted] not found`,
		`Mcp-Session-Id: short; is unknown`:                                                                                            `Mcp-Session-Id: [redacted]; is unknown`,
		`sessionid=7HXAOGSTWBLVRHCB3KDHTXK2OM`:                                                                                         `sessionid=[redacted]`,
		`Post "https://user:password@host:8080/mcp?key=secret#x": dial tcp: refused`:                                                   `Post "https://host:8080/mcp?[redacted]": dial tcp: refused`,
		`Get "http://host/mcp": EOF`:                                                                                                   `Get "http://host/mcp": EOF`,
		`Authorization: Bearer abc.def-ghi_jkl/mno+pqr== was refused`:                                                                  `Authorization: Bearer [redacted] was refused`,

		`session not found`: `session not found`,
		`the session is lost: no operation came for 30s`: `the session is lost: no operation came for 30s`,
		`Bad Request: No valid session ID provided`:      `Bad Request: No valid session ID provided`,
		`Bad Request: Mcp-Session-Id header is required`: `Bad Request: Mcp-Session-Id header is required`,
		`the session was closed 15s after its server`:    `the session was closed 15s after its server`,
		`token expired`: `token expired`,
		`calling "initialize": unsupported protocol version "1999"`: `calling "initialize": unsupported protocol version "1999"`,
		`unsupported protocol version: "2026-07-28" (session-less)`: `unsupported protocol version: "2026-07-28" (session-less)`,
	} {
		if got := scrubbed(errors.New(text)).Error(); got != want {
			t.Errorf("%q became\n%q, want\n%q", text, got, want)
		}
	}
}
