package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/mcpsession/mcpsession/cmd/mcpsession/opensessions"
)

func (s *settings) sessionsCommand() *cobra.Command {
	var query string
	var limit int
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List the open sessions of a namespace",
		Long: `sessions lists the open MCP sessions of a namespace, of workers of every kind and on
every task queue: visibility lists the running workflows, describe shows the sessions of
each. Visibility may be a second late. Calls are those begun, and in brackets those under
way, as of the session's last heartbeat, a few seconds ago; "?" where heartbeats are
encrypted, or the host is of a release that doesn't tell.

` + exitCodes,
		Example: `  mcpsession sessions --query 'WorkflowType = "Headline"'
  mcpsession sessions --output json | jq '.sessions[] | select(.server == "browser")'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage("--limit is %d; use 1 or more", limit)
			}
			logger, err := s.logger(slog.LevelError)
			if err != nil {
				return err
			}
			ctx, stop := interruptible(c.Context())
			defer stop()
			client, err := s.dial(ctx, logger)
			if err != nil {
				return err
			}
			defer client.Close()
			found, err := opensessions.Find(ctx, opensessions.Options{
				Client: client, Namespace: client.options.Namespace, Converter: client.options.DataConverter,
				Query: query, Limit: limit,
			})
			var invalid *serviceerror.InvalidArgument
			switch {
			case err != nil && ctx.Err() != nil:
				return errInterrupted
			case query != "" && errors.As(err, &invalid):
				return usage("--query: %w", err)
			case err != nil:
				return unreachable(err)
			}
			return s.printSessions(found)
		},
	}
	c.Flags().StringVar(&query, "query", "", "narrows the workflows, in the `language` of Temporal's visibility, such as WorkflowType = \"Headline\"")
	c.Flags().IntVar(&limit, "limit", opensessions.DefaultLimit, "how many running workflows are looked at")
	return c
}

func (s *settings) printSessions(found *opensessions.Found) error {
	if s.output == asJSON {
		return printed(s.streams.printJSON(found))
	}
	if found.More {
		s.say("only the first %d running workflows were looked at; raise --limit, or narrow them by --query", found.Workflows)
	}
	if len(found.Sessions) == 0 {
		s.say("no session is open (%d running workflows)", found.Workflows)
		return nil
	}
	table := newTable(s.streams.out)
	_, _ = fmt.Fprintln(table, "SERVER\tSTATE\tAGE\tCALLS\tHOST\tWORKFLOW\tRUN\tBLOCK")
	for _, open := range found.Sessions {
		state := string(open.State)
		if open.Paused {
			state += ", paused"
		}
		if open.Attempt > 1 {
			state += ", attempt " + strconv.Itoa(int(open.Attempt))
		}
		key := open.Key
		if key == "" {
			key = "?"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%v\t%s\t%s\t%s\t%s\t%s\n", open.Server, state,
			time.Since(open.Since).Round(time.Second), calls(open), firstLine(open.Host), firstLine(open.WorkflowID), open.RunID, key)
	}
	return printed(table.Flush())
}

func calls(open opensessions.Session) string {
	switch {
	case open.Calls == nil || open.Running == nil:
		return "?"
	case *open.Running > 0:
		return fmt.Sprintf("%d (%d)", *open.Calls, *open.Running)
	}
	return strconv.FormatInt(*open.Calls, 10)
}
