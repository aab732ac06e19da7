package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// downloadTimeout is for servers that npx has to download.
const downloadTimeout = 10 * time.Minute

// publicFile is what the servers' own READMEs tell people to write, with the one thing
// that these leave to them, a directory that there is.
const publicFile = `{
  "mcpServers": {
    "playwright": {
      "command": "npx",
      "args": [
        "@playwright/mcp@latest"
      ]
    },
    "filesystem": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        %q
      ]
    },
    "memory": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-memory"
      ]
    }
  }
}`

// The public file works on the first try: the servers start, list their tools, and do
// what they are asked.
func TestPublicFile(t *testing.T) {
	t.Parallel()
	needs(t, "npx", "npm")
	b := setupFor(t, downloadTimeout)
	notes := filepath.Join(b.directory, "notes.txt")
	if err := os.WriteFile(notes, []byte("green tea"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.npmWorker(fmt.Sprintf(publicFile, b.directory))

	b.run("list").want(t, 0, "playwright\nfilesystem\nmemory\n")
	for server, tool := range map[string]string{"playwright": "browser_navigate", "filesystem": "read_text_file", "memory": "create_entities"} {
		t.Log("listing ", server, "; npx downloads it the first time")
		b.run("list", server).want(t, 0, tool)
	}
	b.run("call", "filesystem", "read_text_file", fmt.Sprintf(`{"path": %q}`, notes)).want(t, 0, "green tea")
	entity := fmt.Sprintf("tea-%d", time.Now().UnixNano())
	b.run("call", "memory", "create_entities", fmt.Sprintf(`{"entities": [{"name": %q, "entityType": "drink", "observations": ["it is green"]}]}`, entity)).
		want(t, 0, entity, "it is green")
	// It keeps what it is told in a file of its own.
	b.run("call", "memory", "delete_entities", fmt.Sprintf(`{"entityNames": [%q]}`, entity)).want(t, 0)
}

// A browser needs no other file but for what its machine needs: where Chromium is, if
// Chrome isn't installed, and no sandbox for root, for whom Chromium has none. These are
// variables of the server, so they stand in the file; it doesn't get the worker's own.
func TestPublicFileWithBrowser(t *testing.T) {
	t.Parallel()
	needs(t, "npx", "npm", "chromium")
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "<title>Tea shop</title><h1>Green tea</h1>")
	}))
	defer page.Close()
	b := setupFor(t, downloadTimeout)
	b.npmWorker(fmt.Sprintf(`{"mcpServers": {"playwright": {"command": "npx", "args": ["@playwright/mcp@latest"], "env": {
		"PLAYWRIGHT_MCP_EXECUTABLE_PATH": %q, "PLAYWRIGHT_MCP_SANDBOX": "%t", "PLAYWRIGHT_MCP_HEADLESS": "true", "PLAYWRIGHT_MCP_ISOLATED": "true"}}}}`,
		chromium, os.Geteuid() != 0))
	b.run("call", "playwright", "browser_navigate", fmt.Sprintf(`{"url": %q}`, page.URL), "--timeout", "3m").want(t, 0, "Tea shop")
}

// needs skips a test whose programs are missing, but not where all must be there.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skipf("%v; it comes with Node.js 20 (npx, npm) or your system's packages (chromium)", err)
		}
	}
}

// npmWorker starts a worker whose servers have npm as it is for most people: nothing
// answers no where nobody can be asked. What is downloaded is kept for the next run.
func (b *bundle) npmWorker(file string) {
	b.Helper()
	home, err := npmHome(b.ctx, b.directory)
	if err != nil {
		b.Fatal(err)
	}
	w := b.start([]string{"HOME=" + home}, "worker", "--config", b.config(file), "--connect-timeout", "5m")
	w.says("serving ")
}

// npmHome makes a home directory that has the user's settings for npm, but for yes and
// the cache.
func npmHome(ctx context.Context, in string) (home string, err error) {
	home = filepath.Join(in, "home")
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	settings := []string{"cache=" + filepath.Join(cache, "mcpsession", "npm")}
	userConfig, err := exec.CommandContext(ctx, "npm", "config", "get", "userconfig").Output()
	if err != nil {
		return "", fmt.Errorf("npm config get userconfig: %w", err)
	}
	text, err := os.ReadFile(strings.TrimSpace(string(userConfig)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		key, _, _ := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); key != "yes" && key != "cache" {
			settings = append(settings, strings.TrimSpace(line))
		}
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		return "", err
	}
	return home, os.WriteFile(filepath.Join(home, ".npmrc"), []byte(strings.Join(settings, "\n")+"\n"), 0o600)
}
