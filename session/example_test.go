package session_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpsession/mcpsession/failure"
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

// A script makes many calls on one session, in one activity: here it walks through
// pages, and goes on after one that the tool can't read.
func ExampleRegisterScript() {
	type input struct{ URLs []string }
	type page struct{ URL, Title, Fault string }

	err := session.RegisterScript("titles", func(ctx context.Context, mcp *session.Conn, in input) ([]page, error) {
		var pages []page
		for _, url := range in.URLs {
			if _, err := mcp.CallTool(ctx, "browser_navigate", map[string]any{"url": url}); err != nil {
				return nil, err // the workflow gets it with its type
			}
			title, err := session.Call[string](ctx, mcp, "browser_title", nil)
			var tool *failure.Tool
			if errors.As(err, &tool) {
				pages = append(pages, page{URL: url, Fault: tool.Text})
				continue
			}
			if err != nil {
				return nil, err
			}
			pages = append(pages, page{URL: url, Title: title})
		}
		return pages, nil
	})
	fmt.Println(err)

	fmt.Println(session.RegisterScript[input, []page]("titles", nil))
	// Output:
	// <nil>
	// session: RegisterScript: the function of script "titles" is nil
}
