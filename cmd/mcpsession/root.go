package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// DefaultTaskQueue is the task queue of workers and calls without --task-queue.
const DefaultTaskQueue = "mcpsession"

// The settings that all commands have.
type settings struct {
	streams   streams
	address   string
	namespace string
	taskQueue string
	output    string
	logLevel  string
}

const exitCodes = `Exit codes:
  0    it worked
  1    the tool ran and says itself that it failed; its result is printed
  2    the command line or the configuration file is wrong; nothing was done
  3    a call failed: a JSON-RPC error, a timeout, a lost session, a result too large
  4    no session could be opened; no tool ran
  5    Temporal can't be reached or refuses, or no worker polls the task queue
  130  interrupted`

// run runs a command line and returns its exit code.
func run(ctx context.Context, args []string, s streams) int {
	set := &settings{streams: s, output: asText}
	root := set.command()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err != nil {
		var f *fault
		if !errors.As(err, &f) && asksForJSON(args) {
			set.output = asJSON // the line could not be read as far as that
		}
		set.complain(err)
	}
	return codeOf(err)
}

// asksForJSON reports whether a command line that can't be read asks for JSON.
func asksForJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--output=" + asJSON, "-o=" + asJSON, "-o" + asJSON:
			return true
		case "--output", "-o":
			if i+1 < len(args) && args[i+1] == asJSON {
				return true
			}
		}
	}
	return false
}

func (s *settings) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpsession",
		Short: "Host MCP servers on a Temporal task queue, and call their tools",
		Long: `mcpsession hosts the MCP servers of a configuration file (as Claude Desktop, Claude
Code, Cursor and VS Code have it) on a Temporal task queue: Go workflows open sessions
of them with package toolset, and the commands below use them at once.

Where Temporal is, the variables TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY
and the others of Temporal's client configuration say; without any it is 127.0.0.1:7233.

` + exitCodes,
		Example: `  mcpsession worker --config mcp.json
  mcpsession list memory
  mcpsession call memory read_graph`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return s.check()
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&s.address, "address", "", "Temporal's `host:port` (default TEMPORAL_ADDRESS, else 127.0.0.1:7233)")
	flags.StringVar(&s.namespace, "namespace", "", "the Temporal `namespace` (default TEMPORAL_NAMESPACE, else default)")
	flags.StringVar(&s.taskQueue, "task-queue", DefaultTaskQueue, "the task `queue` of the worker")
	flags.StringVarP(&s.output, "output", "o", asText, "text or json, of results and errors")
	flags.StringVar(&s.logLevel, "log-level", "", "debug, info, warn or error, of what goes to stderr (default info for worker, else error)")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(s.workerCommand(), s.listCommand(), s.callCommand(), s.sessionsCommand())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return seeHelp(c, err) })
	for _, c := range append(root.Commands(), root) {
		check := c.Args
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return seeHelp(c, err)
			}
			return nil
		}
	}
	return root
}

// seeHelp says with the error of a command line how to use the command.
func seeHelp(c *cobra.Command, err error) error {
	return fmt.Errorf("%w; use: %s (see %s --help)", err, c.UseLine(), c.CommandPath())
}

// version is that of the module, as the program was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

func (s *settings) check() error {
	if s.output != asText && s.output != asJSON {
		wrong := s.output
		s.output = asText
		return usage("--output is %q; use text or json", wrong)
	}
	if s.taskQueue == "" {
		return usage("--task-queue is empty; leave it out for %q", DefaultTaskQueue)
	}
	return nil
}

// logger returns the logger of a command, whose own level is used without --log-level.
func (s *settings) logger(level slog.Level) (*slog.Logger, error) {
	if s.logLevel != "" {
		if err := level.UnmarshalText([]byte(strings.ToUpper(s.logLevel))); err != nil {
			return nil, usage("--log-level is %q; use debug, info, warn or error", s.logLevel)
		}
	}
	options := &slog.HandlerOptions{Level: level}
	if s.output == asJSON {
		return slog.New(slog.NewJSONHandler(s.streams.err, options)), nil
	}
	return slog.New(slog.NewTextHandler(s.streams.err, options)), nil
}

// interruptible returns a context that ends with the first signal to end.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, endings()...)
}

// endings are the signals to end: that its terminal is gone is one, unless nohup says
// otherwise.
func endings() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}
