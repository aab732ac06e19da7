package main

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"go.temporal.io/server/common/primitives"
)

const (
	defaultAddress   = "127.0.0.1:7233"
	defaultUI        = "127.0.0.1:8233"
	defaultNamespace = "default"
	defaultLogLevel  = "error"

	// noUI is the value of -ui that leaves the Web UI out.
	noUI = "none"
)

var logLevels = []string{"debug", "info", "warn", "error", "fatal"}

// options is what the command line asks for, checked as far as that is possible without touching the machine.
type options struct {
	frontend      endpoint
	ui            *endpoint // Nil without a Web UI.
	namespaces    []string
	database      string // A file, or empty for one in memory.
	logLevel      string
	dynamicConfig dynamicSettings
	exitWithStdin bool
}

func parseOptions(args []string) (options, error) {
	var parsed options
	var address, ui string
	flags := newFlagSet(&parsed, &address, &ui)
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: everything is set by flags", flags.Arg(0))
	}

	var err error
	if parsed.frontend, err = parseEndpoint("-address", address); err != nil {
		return options{}, err
	}
	if ui != noUI {
		parsed.ui = new(endpoint)
		if *parsed.ui, err = parseEndpoint("-ui", ui); err != nil {
			return options{}, fmt.Errorf("%w, or %q to serve no Web UI", err, noUI)
		}
	}
	if len(parsed.namespaces) == 0 {
		parsed.namespaces = []string{defaultNamespace}
	}
	if parsed.database != "" {
		if parsed.database, err = filepath.Abs(parsed.database); err != nil {
			return options{}, fmt.Errorf("-db %s: %w", parsed.database, err)
		}
	}
	return parsed, nil
}

func newFlagSet(parsed *options, address, ui *string) *flag.FlagSet {
	flags := flag.NewFlagSet("devserver", flag.ContinueOnError)
	// The caller reports the error, in one line; the flag package would add the whole usage to it.
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}

	flags.StringVar(address, "address", defaultAddress,
		"`host:port` to serve workers and clients on; port 0 picks a free one, the ready line tells which")
	flags.StringVar(ui, "ui", defaultUI, "`host:port` to serve the Web UI on, or none; port 0 picks a free one")
	flags.Func("namespace", "`name` of a namespace to serve; several by commas or by repeating the flag (default "+
		defaultNamespace+")", parsed.addNamespaces)
	flags.StringVar(&parsed.database, "db", "",
		"SQLite `file` to keep everything in, created when it isn't there (default: in memory, gone at the end)")
	parsed.logLevel = defaultLogLevel
	flags.Func("log-level", "`level` from which on log entries are written to standard error: "+
		strings.Join(logLevels, ", ")+" (default "+defaultLogLevel+")", parsed.setLogLevel)
	flags.Func("dynamic-config", "a server setting as `key=value`, the value in JSON or else a string; repeatable",
		parsed.dynamicConfig.add)
	flags.BoolVar(&parsed.exitWithStdin, "exit-with-stdin", false,
		"stop when standard input ends, as it does when the program at its other end is gone")
	return flags
}

func writeUsage(w io.Writer) {
	fmt.Fprint(w, "Usage: devserver [flags]\n\nA Temporal server for tests and examples, in one process.\n\n")
	flags := newFlagSet(new(options), new(string), new(string))
	flags.SetOutput(w)
	flags.PrintDefaults()
}

func (o *options) addNamespaces(value string) error {
	for name := range strings.SplitSeq(value, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
			return fmt.Errorf("a namespace has an empty name; write them as one,two")
		case name == primitives.SystemLocalNamespace:
			// Creating it here would give it another identity than the one that the server gives it.
			return fmt.Errorf("%q is the server's own namespace and is always there; name another", name)
		case !slices.Contains(o.namespaces, name):
			o.namespaces = append(o.namespaces, name)
		}
	}
	return nil
}

func (o *options) setLogLevel(value string) error {
	if !slices.Contains(logLevels, value) {
		return fmt.Errorf("use one of %s", strings.Join(logLevels, ", "))
	}
	o.logLevel = value
	return nil
}
