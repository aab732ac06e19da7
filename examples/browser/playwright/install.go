package playwright

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// sources are what an installation is made from. Their hash names it.
//
//go:embed package.json package-lock.json config.json browserlost.cjs
var sources embed.FS

// An Installation is Playwright MCP with what it needs to run.
type Installation struct {
	Directory string // what was installed
	Node      string // the program of Node.js
	Chromium  string // the program of the browser
}

// Install returns an installation in the user's cache directory, and makes it if
// there is none. Several processes may do so at once. It fails if one of the
// programs is missing that it takes, and says how to get it.
func Install(ctx context.Context) (Installation, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Installation{}, fmt.Errorf("no place to install Playwright MCP: %w", err)
	}
	return InstallIn(ctx, filepath.Join(cache, "mcpsession", "playwright"))
}

// InstallIn is Install into a directory below another one than the user's cache
// directory.
func InstallIn(ctx context.Context, cache string) (Installation, error) {
	var i Installation
	var err error
	if i.Node, err = findNode(ctx); err != nil {
		return Installation{}, err
	}
	if i.Chromium, err = findChromium(); err != nil {
		return Installation{}, err
	}
	key, err := sourcesKey()
	if err != nil {
		return Installation{}, err
	}
	i.Directory = filepath.Join(cache, key)
	if _, err := os.Stat(i.Directory); err == nil {
		return i, nil
	}
	return i, fill(ctx, i.Directory)
}

// fill makes a directory, either whole or not at all: what is installed gets its
// name at the end. Who comes second finds the name taken, by the same.
func fill(ctx context.Context, directory string) error {
	if err := os.MkdirAll(filepath.Dir(directory), 0o755); err != nil {
		return fmt.Errorf("no place to install Playwright MCP: %w", err)
	}
	partial, err := os.MkdirTemp(filepath.Dir(directory), "partial-")
	if err != nil {
		return fmt.Errorf("no place to install Playwright MCP: %w", err)
	}
	defer func() { _ = os.RemoveAll(partial) }()
	if err := os.CopyFS(partial, sources); err != nil {
		return err
	}
	npm, err := findNPM()
	if err != nil {
		return err
	}
	install := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = partial
	if output, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci can't install Playwright MCP: %w\n%s", err, output)
	}
	if err := os.Rename(partial, directory); err != nil && !isDirectory(directory) {
		return err
	}
	return nil
}

func sourcesKey() (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := sources.ReadFile(path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil))[:16], err
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// errMissing marks the errors about programs that a person has to install.
var errMissing = errors.New("missing")

// IsMissing reports whether an error of Install says that a program is missing.
func IsMissing(err error) bool { return errors.Is(err, errMissing) }
