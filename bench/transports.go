package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/transport"
)

// A link is a way to the bench's MCP server.
type link struct {
	name    string
	connect transport.Connector
	// target is whether DESIGN's ratios are for it; they are for a server that costs
	// nothing.
	target bool
}

// links returns a link of each transport, and what stops the servers that they
// share: the ones over HTTP are one process each, the one over stdio is a process a
// session.
func links(ctx context.Context) (all []link, stop func(), err error) {
	var servers []*exec.Cmd
	stop = func() {
		for _, s := range servers {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	}
	urls := make(map[string]string)
	for _, role := range []string{"http", "sse"} {
		s, url, err := startRole(ctx, role)
		if err != nil {
			stop()
			return nil, nil, err
		}
		servers = append(servers, s)
		urls[role] = url
	}
	stdio, err := overStdio()
	if err != nil {
		stop()
		return nil, nil, err
	}
	return []link{
		{"in memory", transport.InMemory(func(transport.Argument) *mcp.Server { return benchServer() }), true},
		{"stdio", stdio, false},
		{"streamable HTTP", transport.HTTP(urls["http"]), false},
		{"SSE", transport.HTTP(urls["sse"], transport.WithSSE()), false},
	}, stop, nil
}

func overStdio() (transport.Connector, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return transport.CommandWithOptions(transport.CommandOptions{
		Env: []string{roleVariable + "=stdio", fmt.Sprintf("HOST_PID=%d", os.Getpid())},
	}, self), nil
}

// startRole starts this program in a role, and returns the first line that it
// prints once it is ready.
func startRole(ctx context.Context, role string, environ ...string) (*exec.Cmd, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(append(os.Environ(), environ...), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, "", fmt.Errorf("the %s role did not start: %w", role, err)
	}
	return cmd, strings.TrimSpace(line), nil
}
