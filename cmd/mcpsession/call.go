package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/mcpsession/mcpsession/cmd/mcpsession/workflows"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/toolset"
)

func (s *settings) callCommand() *cobra.Command {
	var argument string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "call SERVER TOOL [JSON | @FILE | -]",
		Short: "Call a tool and print its result",
		Long: `call runs a workflow that calls one tool, in a session of its own, and prints the
result. The arguments are a JSON object: given, or read from a file or from stdin; {}
without one. Their digits stay as they are.

With --output json the result is the server's whole CallToolResult. A tool that says
itself that it failed gives a result, too, and exit code 1.

` + exitCodes,
		Example: `  mcpsession call memory read_graph
  mcpsession call filesystem read_text_file '{"path": "/tmp/notes.txt"}'`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			in := workflows.CallInput{Server: args[0], Tool: args[1], Timeout: timeout}
			if in.Tool == "" {
				return usage("TOOL is empty")
			}
			given := ""
			if len(args) == 3 {
				given = args[2]
			}
			var err error
			if in.Arguments, err = s.arguments(given); err != nil {
				return err
			}
			if err := checkTarget(in.Server, timeout, argument); err != nil {
				return err
			}
			in.Argument = json.RawMessage(argument)
			var result json.RawMessage
			if err := s.execute(c.Context(), workflows.TypeCall, timeout, &result, in); err != nil {
				return err
			}
			return s.printResult(result)
		},
	}
	addTarget(c, &argument, &timeout)
	return c
}

// addTarget adds the flags of commands that use a server.
func addTarget(c *cobra.Command, argument *string, timeout *time.Duration) {
	c.Flags().StringVar(argument, "argument", "", "`JSON` for the server's connector, if it is one written in Go that takes any")
	c.Flags().DurationVar(timeout, "timeout", toolset.DefaultCallTimeout, "how long the server may take to answer, once the session is open")
}

func checkTarget(server string, timeout time.Duration, argument string) error {
	switch {
	case queue.ValidateServer(server) != nil:
		return usage("SERVER: %w", queue.ValidateServer(server))
	case timeout <= 0:
		return usage("--timeout is %v; use a duration such as 30s", timeout)
	case argument != "" && !json.Valid([]byte(argument)):
		return usage("--argument is no JSON; a string needs quotes of its own")
	}
	return nil
}

// arguments returns the tool's arguments from the command line, a file or stdin.
func (s *settings) arguments(given string) (json.RawMessage, error) {
	raw, from := []byte(given), "as given"
	var err error
	switch {
	case given == "":
		return nil, nil
	case given == "-":
		from = "stdin"
		raw, err = io.ReadAll(io.LimitReader(s.streams.in, toolset.DefaultMaxArguments+1))
	case strings.HasPrefix(given, "@"):
		from = given[1:]
		raw, err = readStart(from)
	}
	var object map[string]json.RawMessage
	var wrong *json.SyntaxError
	switch {
	case err != nil:
		return nil, usage("read the tool's arguments: %w", err)
	case len(raw) > toolset.DefaultMaxArguments:
		return nil, usage("the tool's arguments are more than %d bytes, which Temporal doesn't take; give a reference to the data instead", toolset.DefaultMaxArguments)
	case errors.As(json.Unmarshal(raw, new(json.RawMessage)), &wrong):
		return nil, usage("the tool's arguments (%s) are no JSON, see byte %d; give an object such as '{\"path\": \"/tmp\"}', or @FILE", from, wrong.Offset)
	case json.Unmarshal(raw, &object) != nil || object == nil:
		return nil, usage("the tool's arguments (%s) are no JSON object; give one such as '{\"path\": \"/tmp\"}'", from)
	}
	return raw, nil
}

// readStart reads a file as far as arguments can go.
func readStart(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, toolset.DefaultMaxArguments+1))
}

// printResult prints the result of a tool, and makes one that failed exit code 1.
func (s *settings) printResult(raw json.RawMessage) error {
	var result mcp.CallToolResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return &fault{code: exitCall, err: fmt.Errorf("the result is no CallToolResult: %w", err)}
	}
	if err := s.showResult(&result, raw); err != nil {
		return printed(err)
	}
	if result.IsError {
		return &fault{code: exitTool}
	}
	return nil
}

func (s *settings) showResult(result *mcp.CallToolResult, raw json.RawMessage) error {
	if s.output == asJSON {
		return s.streams.printJSON(raw)
	}
	text := describeResult(result, raw)
	if isTerminal(s.streams.out) {
		text = harmless(text)
	}
	_, err := io.WriteString(s.streams.out, text)
	return err
}

// describeResult returns a result for people: its text, and a word on each block that
// is none. What is structured only is shown as JSON.
func describeResult(result *mcp.CallToolResult, raw json.RawMessage) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format, args...); out.WriteByte('\n') }
	for _, block := range result.Content {
		switch b := block.(type) {
		case *mcp.TextContent:
			line("%s", strings.TrimSuffix(b.Text, "\n"))
		case *mcp.ImageContent:
			line("[image, %s, %d bytes]", b.MIMEType, len(b.Data))
		case *mcp.AudioContent:
			line("[audio, %s, %d bytes]", b.MIMEType, len(b.Data))
		case *mcp.ResourceLink:
			line("[resource %s]", b.URI)
		case *mcp.EmbeddedResource:
			switch {
			case b.Resource == nil:
				line("[resource]")
			case len(b.Resource.Blob) > 0:
				line("[resource %s, %s, %d bytes]", b.Resource.URI, b.Resource.MIMEType, len(b.Resource.Blob))
			default:
				line("[resource %s]\n%s", b.Resource.URI, strings.TrimSuffix(b.Resource.Text, "\n"))
			}
		default:
			line("[content of another type; --output json shows it]")
		}
	}
	if out.Len() == 0 && result.StructuredContent != nil {
		var structured struct {
			StructuredContent json.RawMessage `json:"structuredContent"`
		}
		if json.Unmarshal(raw, &structured) == nil {
			line("%s", structured.StructuredContent)
		}
	}
	return out.String()
}
