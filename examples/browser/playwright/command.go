package playwright

import (
	"os"
	"path/filepath"

	"github.com/mcpsession/mcpsession/transport"
)

// Connector returns the [transport.Connector] of sessions that have a server and a
// browser of their own. Profiles, sockets and screenshots go below scratch, which
// must be there.
func (i Installation) Connector(scratch string) transport.Connector {
	return transport.CommandWithOptions(transport.CommandOptions{
		Env: environment(scratch),
		Dir: scratch,
	}, i.Node, i.arguments(scratch)...)
}

// arguments are what Node.js is given to run the server.
func (i Installation) arguments(scratch string, more ...string) []string {
	arguments := []string{
		filepath.Join(i.Directory, "node_modules", "@playwright", "mcp", "cli.js"),
		"--headless",
		"--isolated", // nothing is shared with another session, or kept for one
		"--idle-timeout", "0",
		"--init-page", filepath.Join(i.Directory, "browserlost.cjs"),
		"--config", filepath.Join(i.Directory, "config.json"),
		"--executable-path", i.Chromium,
		"--output-dir", filepath.Join(scratch, "output"),
	}
	if os.Geteuid() == 0 {
		arguments = append(arguments, "--no-sandbox") // which Chromium has not for root
	}
	return append(arguments, more...)
}

// environment keeps what server and browser write in one place.
func environment(scratch string) []string {
	return []string{
		"TMPDIR=" + scratch,
		"XDG_CACHE_HOME=" + filepath.Join(scratch, "cache"),
		"XDG_CONFIG_HOME=" + filepath.Join(scratch, "config"),
	}
}
