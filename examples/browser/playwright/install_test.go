package playwright_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpsession/mcpsession/examples/browser/playwright"
)

// Installations that are made at once come to be one, a whole one, and nothing is
// left of the others.
func TestInstallAtOnce(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			installed, err := playwright.InstallIn(t.Context(), cache)
			if playwright.IsMissing(err) && os.Getenv("CI") == "" {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
				return
			}
			for _, file := range []string{"config.json", "browserlost.cjs", "node_modules/@playwright/mcp/cli.js"} {
				if _, err := os.Stat(filepath.Join(installed.Directory, file)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 && !t.Skipped() {
		t.Errorf("the directory has %v", entries)
	}
}

// What is missing is named, and how to get it.
func TestInstallMissing(t *testing.T) {
	const node = "#!/bin/sh\necho "
	for _, test := range []struct {
		name, node, chromium string
		says                 []string
	}{
		{name: "node", says: []string{"Node.js 20 or later", "https://nodejs.org"}},
		{name: "new node", node: node + "v18.19.0", says: []string{"Node.js 20 or later", "is v18.19.0"}},
		{name: "chromium", node: node + "v22.1.0", says: []string{"Chromium", "apt-get install chromium"}},
		{name: "named chromium", node: node + "v22.1.0", chromium: "/no/such/browser", says: []string{"CHROMIUM", "/no/such/browser"}},
		{name: "npm", node: node + "v22.1.0", chromium: "/bin/sh", says: []string{"npm", "apt-get install npm"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := t.TempDir()
			if test.node != "" {
				if err := os.WriteFile(filepath.Join(path, "node"), []byte(test.node), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", path)
			t.Setenv(playwright.ChromiumVariable, test.chromium)
			_, err := playwright.InstallIn(t.Context(), t.TempDir())
			if !playwright.IsMissing(err) {
				t.Fatalf("error %v, want one that says that something is missing", err)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error %q does not say %q", err, part)
				}
			}
		})
	}
}
