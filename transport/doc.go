// Package transport connects a session to its MCP server. It is the worker's
// side alone: workflow code never gets to see a connection, nor the credentials
// that live in a [Connector].
//
// # Which transports keep state
//
// [Command] gives each session a process of its own, and [InMemory] a server
// session of its own, so what a tool leaves behind is there at the next call,
// and nobody else sees it. When the process or the server session ends, the
// session is lost; nothing here ever starts another in its place.
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
// names. The values of what they name are cut out of its stderr before that is
// logged or told; values of the base set, and of less than six bytes, are not,
// nor is a value that the server prints encoded or in part.
//
// What it writes to stdout must be messages, one a line. Lines that are none are
// skipped and logged, since many servers greet there.
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
