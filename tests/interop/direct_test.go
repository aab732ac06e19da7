package interop

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/session"
)

// said is what a server says of itself.
type said struct {
	initialize *mcp.InitializeResult
	tools      []*mcp.Tool
}

// ask asks the server of the visit by the MCP SDK's own client and transports.
func (v *visit) ask() (of said) {
	v.Helper()
	direct := v.connect()
	defer direct.Close()
	of.initialize = direct.InitializeResult()
	for tool, err := range direct.Tools(v.ctx, nil) {
		if err != nil {
			v.Fatal(err)
		}
		of.tools = append(of.tools, tool)
	}
	return of
}

// connect returns a session that the MCP SDK's own client has with the server.
func (v *visit) connect() *mcp.ClientSession {
	v.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "direct", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	direct, err := client.Connect(v.ctx, v.direct(), &mcp.ClientSessionOptions{ProtocolVersion: session.DefaultProtocolVersion})
	if err != nil {
		v.Fatal(err)
	}
	return direct
}

func (v *visit) direct() mcp.Transport {
	v.Helper()
	switch v.over {
	case streamable:
		return &mcp.StreamableClientTransport{Endpoint: v.site.url()}
	case sse:
		return &mcp.SSEClientTransport{Endpoint: v.site.url()}
	}
	p := v.row.run(&place{T: v.T, over: stdio, dir: v.dir, block: "direct"})
	command := exec.CommandContext(v.ctx, p.name, p.args...)
	command.Dir = p.dir
	command.Env = slices.Concat(os.Environ(), p.env, v.owned("direct"))
	return &mcp.CommandTransport{Command: command}
}

// wantSame fails the test unless two values are the same JSON.
func (v *visit) wantSame(what string, want, got any) {
	v.Helper()
	if diff := cmp.Diff(v.generic(want), v.generic(got)); diff != "" {
		v.Errorf("the %s differs from what the server said (-said +got):\n%s", what, diff)
	}
}

func (v *visit) generic(value any) (generic any) {
	v.Helper()
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &generic)
	}
	if err != nil {
		v.Fatal(err)
	}
	return generic
}
