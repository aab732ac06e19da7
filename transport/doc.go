// Package transport connects a session to its MCP server. It is the worker's
// side alone: workflow code never gets to see a connection, nor the credentials
// that live in a [Connector].
//
// # Which transports keep state
//
// [Command] gives each session a process of its own, and [InMemory] and [HTTP] a
// server session of its own, so what a tool leaves behind is there at the next
// call, and nobody else sees it. When the process or the server session ends, the
// session is lost; nothing here ever starts another in its place.
//
// Over HTTP it takes a server that has sessions, and a version of MCP that has
// them:
//
//	                                  2024-11-05 to 2025-11-25    2026-07-28
//	Command, InMemory                 state                       state
//	HTTP, server gives a session id   state                       there are no ids
//	HTTP, server gives none           no state                    no state
//	HTTP with WithSSE                 state: the stream is it     not spoken
//
// Sessions ask for 2025-11-25 unless they are told otherwise, since a server that
// speaks both keeps nothing in the newer one, without an error. Where there is no
// state a block fails to open, as "sessionless", unless that is allowed.
//
// All transports are [Watched]: they notice the end of their server without a
// call, and say why it went. The suite in package transporttest holds them, and
// connectors of your own, to what is said here.
//
// # The life of a child process
//
//	connector   finds the executable; holds nothing yet
//	    │
//	Connect     starts the process, in a process group of its own; if that
//	    │       or the caller's context fails, nothing is left
//	    │
//	it lives    stdin, stdout: messages        stderr: logger, and a tail kept
//	    │
//	    ├── it exits ─────────────────────────────────────────────────┐
//	    │                                                             │
//	    ├── it closes its stdout or stdin, or sends too much          │
//	    │        stdin closes ── 1 s to exit ── SIGKILL ──────────────┤
//	    │                                                             │
//	    └── Close                                                     │
//	             stdin closes ── CloseTimeout to exit ──              │
//	             SIGTERM ── KillTimeout to exit ── SIGKILL ───────────┤
//	                                                                  ▼
//	            the rest of its process group gets SIGKILL, what it said
//	            last is read, Gone closes
//
// The exit is noticed by waiting for the process, not for its pipes: something
// that it started and left behind may hold those open for as long as it likes.
// Gone closes within milliseconds of the exit.
//
// The bounds, besides those of [CommandOptions]:
//
//	 1 s   to exit, after the connection broke from the server's side
//	 2 s   to be gone, after SIGKILL; with [Lifeline] once more for the supervisor
//	 1 s   for the logger to take the last lines, after the exit, and 1 s for
//	       the MCP SDK to read the last messages; both take microseconds
//	10 s   for a supervisor to start the server
//
// So with the defaults Close takes milliseconds with a server that exits when
// its stdin closes, as the specification of MCP asks, and never more than 11 s.
// A process that is still there then is one that hangs in the kernel; Close says
// so in its error.
//
// # What a child process gets
//
// Of the worker's environment it gets PATH, HOME, USER, LOGNAME, SHELL, TERM,
// LANG, LC_*, TMPDIR and TZ where they are set (on Windows APPDATA, COMSPEC,
// HOMEDRIVE, HOMEPATH, LOCALAPPDATA, PATH, PATHEXT, PROCESSOR_ARCHITECTURE,
// PROGRAMDATA, PROGRAMFILES, SYSTEMDRIVE, SYSTEMROOT, TEMP, TMP, USERDOMAIN,
// USERNAME, USERPROFILE and WINDIR), and beyond that what [CommandOptions]
// names. The values of what they name, and its Secrets, are cut out of its stderr
// before that is logged or told, and out of its JSON-RPC errors; values of the base
// set, and of less than six bytes, are not, nor is a value that the server prints
// encoded or in part.
//
// What it writes to stdout must be messages, one a line, or a batch of them. Lines
// that are none are skipped and logged, since many servers greet there; an answer
// that can't be read, or that has no request, is no answer, and its call ends by
// its CallTimeout. A message over [CommandOptions.MaxMessage] ends the connection as
// soon as it is over it. What is kept of all that a server writes is bounded.
//
// # What an answer over HTTP means
//
// Once a session is open, an answer to a call means one of these:
//
//	answer                                  the session  reason         tool ran
//	404; 410                                is lost      server-gone    no
//	404 with JSON-RPC for this request      lives        (its error)    as it says
//	404 the same, of an unknown session     is lost      server-gone    no
//	4xx of an unknown session               is lost      server-gone    no
//	4xx with another JSON-RPC error         lives        (its error)    as it says
//	401; 403 that asks for another scope    lives        is sent once more, if there
//	                                                     is another credential; else
//	401; no credential to be had            lives        unauthorized   no
//	403                                     lives        forbidden      no
//	429                                     lives        rate-limited   no
//	4xx, any other                          lives        rejected       no
//	500 with JSON-RPC                       lives        (its error)    as it says
//	502, 504                                lives        gateway        unknown
//	503                                     lives        unavailable    no
//	5xx, any other                          lives        server-error   unknown
//	307, 308 within the origin              lives        is followed
//	3xx, any other                          lives        redirect       no
//	2xx that is no answer, or too large     lives        no-answer      unknown
//	2xx in the name of another session      is lost      server-gone    unknown
//	2xx, 400 for this request, with an      is asked for                no
//	  error that speaks of a session
//	no connection                           is asked for unreachable    no
//	a connection cut before the answer      is asked for no-answer      unknown
//	none yet                                lives until CallTimeout
//
// To ask for a session is to send one ping on it. It is lost if nobody can be
// reached, if the server says that it does not know it, or if it says nothing for
// 5 s; with any other answer it lives, and the call alone has failed, or the error
// is the tool's own. No call that may have run is sent twice; a stream with event ids
// that is cut is taken up where it broke, which runs nothing again.
//
// While a session is being opened, 401, 403, 404, 410, most other 4xx and
// redirects fail for good; 429, 5xx and a server that can't be reached may be
// tried again.
//
// The loss of a session that nobody calls is told by the server's standalone event
// stream, where it has one: when that breaks the session is asked for, and the
// stream opened again if it lives. With a server that has none, a loss is told by
// the next call, or by pings if the client's KeepAlive is set.
//
// Close cancels the calls in flight, then sends a DELETE, for which it waits 3 s at
// most. Nothing is sent to a server that does not know the session.
//
// # Credentials over HTTP
//
//	WithHeaders   asked for once, when the connection is made
//	WithBearer    asked for then, and when the server answers 401 in the session
//	WithOAuth     asked for with each request; renewed when its time is over, and when
//	              the server answers 401, or 403 that asks for another scope
//
// What is renewed is renewed once for all the requests that are refused at the same
// time, and they are sent once more, with the same Mcp-Session-Id: a server that
// refuses a credential has run nothing. That holds for calls, for the event streams, for
// the ping that asks for a session, and for the DELETE. Where no credential can be
// had, calls fail as unauthorized and the session lives; nothing is concluded of the
// server. Later calls try again.
//
// So a session outlives any number of tokens, and an authorization server that is
// down for a while. With [AuthorizationCode] a [TokenStore] keeps what a worker's restart
// needs to go on without a login.
//
// While a session is being opened, a credential that can't be had fails that attempt,
// which may be tried again; for good where only a person can help, as when a login is
// missing or was revoked. The failure says what is needed.
//
// Credentials are sent to the origin of the URL and to no other. No error holds a
// header of [WithHeaders], a token, a value of [WithSecrets], the query of the URL or
// the session's id, also where the server repeats them in its errors; nor does it hold
// what an authorization server says, besides its host, its status and the error codes
// of OAuth. What a tool returns as its result is not changed: a server that repeats a
// credential there puts it in the workflow's history.
//
// # When the worker is killed
//
// A worker that is killed can't close its sessions. What ends a server then:
//
//	                               Linux   with Lifeline   other Unix   Windows
//	its stdin closes                 ×           ×              ×          ×
//	the server itself is killed      ×           ×
//	all its descendants are killed               ×
//
// And what of the processes that a server has started ends at an orderly end, be
// it Close or the server's own exit:
//
//	                               Linux   with Lifeline   other Unix   Windows
//	those in its process group       ×           ×              ×
//	those that have left it                      ×
//
// A server run by a daemon, as a container is, is no descendant of the worker:
// it must end with its stdin.
package transport
