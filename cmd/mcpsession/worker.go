package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/cmd/mcpsession/workflows"
	"github.com/mcpsession/mcpsession/session"
)

// DefaultDrainTimeout is how long a worker that is told to end lets its sessions end
// by themselves.
const DefaultDrainTimeout = 10 * time.Second

// DefaultConnectTimeout is how long a server may take to start: most come by a package
// runner, which downloads them the first time.
const DefaultConnectTimeout = 2 * time.Minute

// settleTimeout is how long workflows may take to end after their sessions have.
const settleTimeout = 5 * time.Second

// settled is how long none must have been under way for all to count as ended.
const settled = 500 * time.Millisecond

func (s *settings) workerCommand() *cobra.Command {
	var config string
	var drain, connect time.Duration
	c := &cobra.Command{
		Use:   "worker --config FILE",
		Short: "Host the MCP servers of a configuration file",
		Long: `worker hosts the MCP servers of a configuration file: sessions and stateless calls of
any workflow that uses the task queue, and the workflows of mcpsession's own commands.

The file has mcpServers, or VS Code's servers; it is read once, when the worker starts.
All workers of a task queue must have the same servers: any of them takes any session. ${VAR}, ${env:VAR} and ${VAR:-default} are
replaced by the worker's variables. A server gets only a small base set of these
variables, and those that the file names in env.

SIGINT, SIGTERM or SIGHUP lets open sessions end by themselves for --drain-timeout, while calls
go on; then they fail as worker-stopped. A second signal ends the worker at once. On Linux
no process of a server is left behind even if the worker is killed.`,
		Example: `  mcpsession worker --config ~/.cursor/mcp.json
  jq '{mcpServers: {memory: .mcpServers.memory}}' mcp.json | mcpsession worker --config -`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case config == "":
				return usage("worker needs --config FILE, the configuration file with mcpServers")
			case drain < 0:
				return usage("--drain-timeout is %v; use 0 to fail sessions at once", drain)
			case connect <= 0:
				return usage("--connect-timeout is %v; use a duration such as 1m", connect)
			}
			return s.work(c.Context(), config, drain, connect)
		},
	}
	c.Flags().StringVarP(&config, "config", "c", "", "the configuration `file`; - is stdin")
	c.Flags().DurationVar(&drain, "drain-timeout", DefaultDrainTimeout, "how long open sessions may take to end by themselves")
	c.Flags().DurationVar(&connect, "connect-timeout", DefaultConnectTimeout, "how long a server may take to start, with what its package runner downloads")
	return c
}

func (s *settings) work(ctx context.Context, config string, drain, connect time.Duration) error {
	servers, err := s.loadServers(config)
	if err != nil {
		return err
	}
	for i := range servers {
		servers[i].ConnectTimeout = connect
	}
	plugin, err := session.NewPlugin(session.Options{Servers: servers, DrainTimeout: drain})
	if err != nil {
		return usage("%s: %w", config, err)
	}
	// What servers write to stderr is worth more than that a session has begun.
	forServers, err := s.logger(slog.LevelInfo)
	if err != nil {
		return err
	}
	slog.SetDefault(forServers)
	forSDK, err := s.logger(slog.LevelWarn)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endings()...)
	defer signal.Stop(signals)
	dialing, dialed := interruptible(ctx)
	c, err := s.dial(dialing, forSDK)
	dialed()
	if err != nil {
		return err
	}
	defer c.Close()

	fatal := make(chan error, 2)
	onFatal := func(err error) { fatal <- err }
	// Two workers, so that a session that drains still has its workflow run.
	hosting := worker.New(c.Client, s.taskQueue, worker.Options{
		DisableWorkflowWorker: true, Plugins: []worker.Plugin{plugin}, WorkerStopTimeout: drain, OnFatalError: onFatal,
	})
	underWay := new(workflows.UnderWay)
	running := worker.New(c.Client, s.taskQueue, worker.Options{
		LocalActivityWorkerOnly: true, OnFatalError: onFatal, WorkerStopTimeout: settleTimeout,
		Interceptors: []interceptor.WorkerInterceptor{underWay},
		// To decode a large result can take a busy machine longer than a second.
		DeadlockDetectionTimeout: 10 * time.Second,
	})
	workflows.Register(running)
	names := namesOf(servers)
	workflows.RegisterHosted(hosting, names)
	if err := running.Start(); err != nil {
		return unreachable(err)
	}
	defer running.Stop()
	if err := hosting.Start(); err != nil {
		return unreachable(err)
	}
	err = s.announce(names, c)
	if err == nil {
		select {
		case err = <-fatal:
			err = unreachable(err)
		case <-signals:
			s.say("ending; sessions that are open have %v to end by themselves (a second signal ends at once)", drain)
			go func() {
				<-signals
				os.Exit(exitInterrupted)
			}()
		}
	}
	hosting.Stop()
	settle(underWay)
	return err
}

// settle waits, not for long, until the workflows here have taken in how their sessions
// ended: another worker would run them only once this one counts as lost.
func settle(underWay *workflows.UnderWay) {
	for deadline := time.Now().Add(settleTimeout); !underWay.None(settled) && time.Now().Before(deadline); {
		time.Sleep(settled / 50)
	}
}

// loadServers reads the configuration file.
func (s *settings) loadServers(config string) ([]session.Server, error) {
	from := s.streams.in
	if config != "-" {
		file, err := os.Open(config)
		if err != nil {
			return nil, usage("open the configuration file: %w", err)
		}
		defer func() { _ = file.Close() }()
		from = file
	} else {
		config = "stdin"
	}
	servers, err := session.Load(io.Reader(from))
	switch {
	case err != nil:
		return nil, usage("%s: %w", config, err)
	case len(servers) == 0:
		return nil, usage("%s: the configuration has no server that is enabled", config)
	}
	return servers, nil
}

// announce says what is served, where.
func (s *settings) announce(names []string, c *connected) error {
	if s.output == asJSON {
		return printed(s.streams.printJSON(map[string]any{
			"servers": names, "taskQueue": s.taskQueue, "namespace": c.options.Namespace, "address": c.options.HostPort,
		}))
	}
	_, err := fmt.Fprintf(s.streams.out, "serving %s on task queue %s of namespace %s at %s\n",
		strings.Join(names, ", "), s.taskQueue, c.options.Namespace, c.options.HostPort)
	return printed(err)
}

func namesOf(servers []session.Server) []string {
	names := make([]string, 0, len(servers))
	for _, server := range servers {
		names = append(names, server.Name)
	}
	return names
}
