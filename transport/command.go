package transport

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Defaults of [CommandOptions].
const (
	DefaultStderrTail   = 4 << 10
	DefaultCloseTimeout = 2 * time.Second
	DefaultKillTimeout  = 3 * time.Second
	DefaultMaxMessage   = mcp.DefaultMaxLineLength // 16 MiB
)

// CommandOptions say how a server is run as a child process. The zero value
// is a good choice; a negative duration or size is refused when a session opens.
type CommandOptions struct {
	// Env holds "KEY=value" entries for the server's environment. They win over
	// InheritEnv, and that over the base set that every server gets from the
	// worker (see the package comment). A value of at least six bytes counts as
	// a secret: it is cut out of what the server writes to stderr before that
	// is logged or comes to be part of a failure. The base set's names do not.
	Env []string

	// InheritEnv names variables that the server gets from the worker's
	// environment as well, where they are set there. They count as secrets, as
	// those of Env do.
	InheritEnv []string

	// Secrets are further values that are cut out of the server's stderr as those of
	// Env are: what is secret in its arguments. A value of the base set is not.
	Secrets []string

	// Dir is the server's working directory; the default is the worker's. A
	// relative command with a slash in it is meant relative to Dir.
	Dir string

	// Logger gets each line that the server writes to stderr, at level Info
	// with the attributes command, pid and line, and at level Warn some of the
	// lines on its stdout that are no messages, and the exit status of one that
	// was closed, if it is not 0. The default is [slog.Default], asked at the start
	// of each server.
	Logger *slog.Logger

	// StderrTail is how many bytes of the end of stderr a server's
	// [Watched.Cause] may hold; the default is [DefaultStderrTail].
	StderrTail int

	// CloseTimeout is how long after the close of its stdin a server may take to
	// exit before its process group gets SIGTERM; the default is
	// [DefaultCloseTimeout]. The server's calls in flight have been ended by then.
	CloseTimeout time.Duration

	// KillTimeout is how long after the SIGTERM a server may take to exit before
	// its process group gets SIGKILL; the default is [DefaultKillTimeout].
	KillTimeout time.Duration

	// MaxMessage is the size in bytes of the largest message that a server may
	// send; the default is [DefaultMaxMessage]. A larger one ends the
	// connection. A line that is no message may have any size.
	MaxMessage int
}

// Command returns a [Connector] for an MCP server that is run as a child
// process and speaks over its stdin and stdout: CommandWithOptions with no
// options set.
func Command(name string, args ...string) Connector {
	return CommandWithOptions(CommandOptions{}, name, args...)
}

// CommandWithOptions returns a [Connector] for an MCP server that is run as a
// child process and speaks over its stdin and stdout. Every session has a
// process of its own. The package comment tells its life from start to end.
//
// A name without a slash is looked up in the PATH that the server gets, in its
// absolute directories. No error holds an argument or a variable's value.
//
// The connector and the transport's Connect fail with a [PermanentError] of
// reason "executable-not-found", "not-executable", "directory-not-found" or
// "bad-option" where nothing short of a change on the worker helps.
func CommandWithOptions(options CommandOptions, name string, args ...string) Connector {
	options.Env = slices.Clone(options.Env)
	options.InheritEnv = slices.Clone(options.InheritEnv)
	options.Secrets = slices.Clone(options.Secrets)
	args = slices.Clone(args)
	return func(ctx context.Context, _ Argument) (mcp.Transport, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := options.check(name); err != nil {
			return nil, err
		}
		env := newEnvironment(options)
		executable, err := findExecutable(name, options.Dir, env)
		if err != nil {
			return nil, err
		}
		return &command{
			life:       newLife(),
			options:    options.withDefaults(),
			name:       name,
			executable: executable,
			args:       args,
			env:        env,
			supervised: lifelineInUse.Load(),
		}, nil
	}
}

// A command is the transport of one server process.
type command struct {
	*life
	options    CommandOptions // defaults filled in
	name       string         // as the user gave it, for texts
	executable string         // what the name was found to be, absolute
	args       []string
	env        *environment
	supervised bool // whether Lifeline stands between this process and the server

	server atomic.Pointer[child] // nil before Connect has started it
}

// LastWords implements [Outspoken].
func (c *command) LastWords() string {
	if server := c.server.Load(); server != nil {
		return server.lastWords()
	}
	return ""
}

// Connect implements [mcp.Transport]: it starts the server.
func (c *command) Connect(ctx context.Context) (mcp.Connection, error) {
	return c.life.connect(ctx, c.start)
}

func (o CommandOptions) check(name string) error {
	var wrong string
	switch {
	case name == "":
		wrong = "the command's name is empty"
	case o.StderrTail < 0:
		wrong = fmt.Sprintf("CommandOptions.StderrTail is %d; use 0 for the default", o.StderrTail)
	case o.CloseTimeout < 0:
		wrong = fmt.Sprintf("CommandOptions.CloseTimeout is %v; use 0 for the default", o.CloseTimeout)
	case o.KillTimeout < 0:
		wrong = fmt.Sprintf("CommandOptions.KillTimeout is %v; use 0 for the default", o.KillTimeout)
	case o.MaxMessage < 0:
		wrong = fmt.Sprintf("CommandOptions.MaxMessage is %d; use 0 for the default", o.MaxMessage)
	default:
		wrong = checkEnvironment(o)
	}
	if wrong == "" {
		return nil
	}
	return Permanent("bad-option", fmt.Errorf("transport: server %q: %s", name, wrong))
}

func (o CommandOptions) withDefaults() CommandOptions {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.StderrTail == 0 {
		o.StderrTail = DefaultStderrTail
	}
	if o.CloseTimeout == 0 {
		o.CloseTimeout = DefaultCloseTimeout
	}
	if o.KillTimeout == 0 {
		o.KillTimeout = DefaultKillTimeout
	}
	if o.MaxMessage == 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	return o
}
