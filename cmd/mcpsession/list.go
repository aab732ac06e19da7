package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpsession/mcpsession/cmd/mcpsession/workflows"
)

func (s *settings) listCommand() *cobra.Command {
	var in workflows.ListInput
	var argument string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "list [SERVER]",
		Short: "List the servers of the worker, or what a server has",
		Long: `list asks the worker of the task queue which servers it hosts. With a server it opens a
session of it and lists its tools, or its prompts or resources. With --output json it
prints them whole, with the tools' schemas.

` + exitCodes,
		Example: `  mcpsession list
  mcpsession list playwright
  mcpsession list playwright --output json | jq '.tools[0].inputSchema'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				if in.Prompts || in.Resources || argument != "" {
					return usage("--prompts, --resources and --argument need a SERVER")
				}
				return s.listServers(c)
			}
			if err := checkTarget(args[0], timeout, argument); err != nil {
				return err
			}
			in.Server, in.Timeout, in.Argument = args[0], timeout, json.RawMessage(argument)
			var raw json.RawMessage
			if err := s.execute(c.Context(), workflows.TypeList, timeout, &raw, in); err != nil {
				return err
			}
			return s.printLists(in, raw)
		},
	}
	c.Flags().BoolVar(&in.Prompts, "prompts", false, "list its prompts instead of its tools")
	c.Flags().BoolVar(&in.Resources, "resources", false, "list its resources and resource templates instead of its tools")
	addTarget(c, &argument, &timeout)
	return c
}

func (s *settings) listServers(c *cobra.Command) error {
	var servers workflows.Servers
	if err := s.execute(c.Context(), workflows.TypeServers, time.Minute, &servers); err != nil {
		return err
	}
	if s.output == asJSON {
		return printed(s.streams.printJSON(servers))
	}
	for _, name := range servers.Servers {
		if _, err := fmt.Fprintln(s.streams.out, name); err != nil {
			return printed(err)
		}
	}
	return nil
}

func (s *settings) printLists(in workflows.ListInput, raw json.RawMessage) error {
	if s.output == asJSON {
		return printed(s.streams.printJSON(raw))
	}
	var lists workflows.Lists
	if err := json.Unmarshal(raw, &lists); err != nil {
		return &fault{code: exitCall, err: fmt.Errorf("the lists can't be read: %w", err)}
	}
	table := newTable(s.streams.out)
	for _, tool := range lists.Tools {
		row(table, tool.Name, tool.Description)
	}
	for _, prompt := range lists.Prompts {
		row(table, prompt.Name, prompt.Description)
	}
	for _, resource := range lists.Resources {
		row(table, resource.URI, resource.Name)
	}
	for _, template := range lists.ResourceTemplates {
		row(table, template.URITemplate, template.Name)
	}
	if len(lists.Tools)+len(lists.Prompts)+len(lists.Resources)+len(lists.ResourceTemplates) == 0 {
		s.say("server %s lists none", in.Server)
	}
	return printed(table.Flush())
}

func newTable(to io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(to, 0, 0, 2, ' ', 0) }

func row(table io.Writer, name, description string) {
	_, _ = fmt.Fprintf(table, "%s\t%s\n", firstLine(name), firstLine(description))
}
