package session_test

import (
	"fmt"
	"time"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// A worker that holds sessions has the plugin in its worker.Options.Plugins.
func ExampleNewPlugin() {
	plugin, err := session.NewPlugin(session.Options{
		Servers: []session.Server{{
			Name:        "browser",
			Connect:     transport.Command("npx", "-y", "@playwright/mcp", "--headless"),
			IdleTimeout: time.Hour,
		}},
		DrainTimeout: 10 * time.Second,
	})
	fmt.Println(plugin.Name(), err)

	_, err = session.NewPlugin(session.Options{Servers: []session.Server{{Name: "a browser"}}})
	fmt.Println(err)
	// Output:
	// github.com/mcpsession/mcpsession/session <nil>
	// session: Server.Name: the MCP server name "a browser" has the character ' '; use letters, digits, '-' and '_'
}
