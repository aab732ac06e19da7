package playwright

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// minNode is the oldest major version of Node.js that Playwright runs on.
const minNode = 20

// ChromiumVariable names the environment variable that says which browser to run;
// without it, it is looked for in PATH.
const ChromiumVariable = "CHROMIUM"

func findNode(ctx context.Context) (string, error) {
	const remedy = "install Node.js from https://nodejs.org, or by your system's packages"
	node, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("%w: Node.js %d or later, the program node; %s", errMissing, minNode, remedy)
	}
	version, err := exec.CommandContext(ctx, node, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", node, err)
	}
	var major int
	if _, err := fmt.Sscanf(string(version), "v%d.", &major); err != nil || major < minNode {
		return "", fmt.Errorf("%w: Node.js %d or later; %s is %s; %s",
			errMissing, minNode, node, strings.TrimSpace(string(version)), remedy)
	}
	return node, nil
}

func findNPM() (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%w: npm, to install Playwright MCP; it comes with Node.js, or: apt-get install npm", errMissing)
	}
	return npm, nil
}

func findChromium() (string, error) {
	if named := os.Getenv(ChromiumVariable); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%w: the browser that the variable %s names: %v", errMissing, ChromiumVariable, err)
		}
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: Chromium; apt-get install chromium, or set %s to the path of a Chromium or Chrome",
		errMissing, ChromiumVariable)
}
