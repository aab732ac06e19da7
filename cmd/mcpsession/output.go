package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
)

// The streams of a run.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// The values of --output.
const (
	asText = "text"
	asJSON = "json"
)

// printJSON prints a value, whose digits stay as they are, over several lines.
func (s streams) printJSON(value any) error {
	raw, isRaw := value.(json.RawMessage)
	if !isRaw {
		var err error
		if raw, err = marshal(value); err != nil {
			return err
		}
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	_, err := indented.WriteTo(s.out)
	return err
}

// marshal leaves <, > and & as they are.
func marshal(value any) (json.RawMessage, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(buffer.Bytes()), err
}

// say prints a line for people to stderr, unless that is for programs.
func (s *settings) say(format string, args ...any) {
	if s.output != asJSON {
		_, _ = fmt.Fprintf(s.streams.err, format+"\n", args...)
	}
}

// An errorReport is what --output json says of an error.
type errorReport struct {
	Message  string          `json:"message"`
	ExitCode int             `json:"exitCode"`
	Type     string          `json:"type,omitempty"`
	Reason   failure.Reason  `json:"reason,omitempty"`
	ToolRan  failure.ToolRan `json:"toolRan,omitempty"`
	Server   string          `json:"server,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Peer     string          `json:"serverSaid,omitempty"`
	// Code and Data are those of a JSON-RPC error.
	Code int64           `json:"code,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
	// Hint is what to do about it with this program: the message speaks of the library.
	Hint string `json:"hint,omitempty"`
}

// hint returns what people without Go code can do about a failure.
func (s *settings) hint(r errorReport) string {
	switch {
	case r.Reason == failure.ReasonUnknownServer:
		return fmt.Sprintf("\"mcpsession list --task-queue %s\" names the servers of the worker's file; all workers of a task queue must have the same", s.taskQueue)
	case r.Reason == failure.ReasonConnectTimeout:
		return "the worker's --connect-timeout is how long a server may take to start; does it write anything to the worker's stderr?"
	case r.Reason == "executable-not-found":
		return "in the worker's file, command can be a full path, and env can have a PATH"
	case r.Type == failure.TypeMCPProtocol && r.Code == jsonrpc.CodeMethodNotFound:
		return "the server has nothing of this kind"
	}
	return ""
}

// complain prints an error to stderr.
func (s *settings) complain(err error) {
	var f *fault
	if errors.As(err, &f) && f.err == nil {
		return
	}
	report := errorReport{Message: err.Error(), ExitCode: codeOf(err)}
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		report.Type = application.Type()
		report.ToolRan = failure.RanOf(err)
		for _, details := range []func(error) (failure.Details, bool){failure.Open, failure.DedicatedWorker, failure.Call, failure.SessionClosed} {
			if d, ok := details(err); ok {
				report.Reason, report.Server, report.Tool, report.Peer = d.Reason, d.Server, d.Tool, d.Peer
				break
			}
		}
		if d, ok := failure.MCPProtocol(err); ok {
			report.Code, report.Data = d.Code, d.Data
		}
		report.Hint = s.hint(report)
	}
	if s.output == asJSON {
		if raw, err := marshal(map[string]errorReport{"error": report}); err == nil {
			_, _ = fmt.Fprintf(s.streams.err, "%s\n", raw)
		}
		return
	}
	_, _ = fmt.Fprintf(s.streams.err, "mcpsession: %s\n", harmless(report.Message))
	if report.Peer != "" && !strings.Contains(report.Message, report.Peer) {
		_, _ = fmt.Fprintf(s.streams.err, "the server said: %s\n", harmless(report.Peer))
	}
	if report.Hint != "" {
		_, _ = fmt.Fprintf(s.streams.err, "hint: %s\n", report.Hint)
	}
}

// harmless returns a text of others without what could steer a terminal.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, text)
}

// firstLine returns the first line of a text, bounded.
func firstLine(text string) string {
	const most = 100
	line, _, _ := strings.Cut(strings.TrimSpace(harmless(text)), "\n")
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most-1]) + "…"
	}
	return line
}

// isTerminal reports whether a stream is one.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
