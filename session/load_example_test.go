package session_test

import (
	"fmt"
	"strings"

	"github.com/mcpsession/mcpsession/session"
)

// A file of another host is loaded as it is, and what it lacks is told by name.
func ExampleLoad() {
	servers, err := session.Load(strings.NewReader(`{
		"mcpServers": {
			"memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}
		}
	}`))
	fmt.Println(servers[0].Name, err)

	_, err = session.Load(strings.NewReader(`{
		"mcpServers": {
			"tracker": {"url": "https://tracker.example/mcp", "headers": {"Authorization": "Bearer ${TRACKER_TOKEN}"}}
		}
	}`))
	fmt.Println(err)
	// Output:
	// memory <nil>
	// session: the configuration's server "tracker": "headers.Authorization": the variable TRACKER_TOKEN is not set; set it for the worker, or write ${TRACKER_TOKEN:-default}
}
