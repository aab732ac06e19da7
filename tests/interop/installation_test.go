package interop

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	installTimeout = 5 * time.Minute
	// keepUnused is how long an installation stays in the cache after its last use.
	keepUnused = 14 * 24 * time.Hour
)

// An installation is a directory of installed packages. It is made once and kept
// in the user's cache directory under a hash of all that it is made from.
type installation struct {
	name string
	// probe tells what there is to install with, which is part of the hash; or why
	// nothing can be installed and how that is changed.
	probe func(context.Context) (with, lacks string)
	// from are the files that pin what is installed.
	from []string
	// install installs it into a directory, which is moved afterwards, and returns
	// what was printed.
	install func(ctx context.Context, directory string) (output []byte, err error)

	once   sync.Once
	path   string
	skip   string
	failed error
}

// directory returns where it is installed. It skips the test where that can't be.
func (i *installation) directory(t *testing.T) string {
	t.Helper()
	i.once.Do(i.prepare)
	if i.failed != nil {
		t.Fatal(i.failed)
	}
	if i.skip != "" {
		t.Skip(i.skip)
	}
	return i.path
}

func (i *installation) prepare() {
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	with, lacks := i.probe(ctx)
	if lacks != "" {
		i.skip = lacks
		return
	}
	if i.path, i.failed = i.cached(with); i.failed != nil {
		return
	}
	if _, err := os.Stat(i.path); err == nil {
		now := time.Now()
		_ = os.Chtimes(i.path, now, now)
		return
	}
	output, err := i.make(ctx)
	switch {
	case err == nil:
	case unreachable.Match(output) && os.Getenv("CI") == "":
		i.skip = fmt.Sprintf("%s can't be installed without the network (with CI set this is a failure): %v\n%s", i.name, err, output)
	default:
		i.failed = fmt.Errorf("install %s: %w\n%s", i.name, err, output)
	}
}

// unreachable is what npm and pip print when they can't reach their registry.
var unreachable = regexp.MustCompile(`ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|` +
	`NameResolutionError|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|ConnectionResetError|ConnectionRefusedError`)

// cached returns where the installation belongs.
func (i *installation) cached(with string) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%s\n%s\n", i.name, runtime.GOOS, runtime.GOARCH, with)
	for _, file := range i.from {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s\n%d\n%s\n", file, len(content), content)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for the servers of the interop suite: %w", err)
	}
	return filepath.Join(user, "mcpsession", "interop", i.name+"-"+hex.EncodeToString(hash.Sum(nil))[:16]), nil
}

// make installs it beside its place and moves it there whole. Processes that do so
// at the same time don't meet: the first to be ready gives all of them its own.
func (i *installation) make(ctx context.Context) (output []byte, err error) {
	cache := filepath.Dir(i.path)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	prune(cache)
	unfinished, err := os.MkdirTemp(cache, i.name+"-unfinished-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(unfinished)
	if output, err = i.install(ctx, unfinished); err != nil {
		return output, cmp.Or(context.Cause(ctx), err)
	}
	if err := os.Rename(unfinished, i.path); err != nil {
		if _, installed := os.Stat(i.path); installed != nil {
			return output, err
		}
	}
	return output, nil
}

// prune removes what nobody has used for long, and what was never finished.
func prune(cache string) {
	entries, _ := os.ReadDir(cache)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			continue
		}
		unused := time.Since(info.ModTime())
		if unused > keepUnused || unused > 2*installTimeout && strings.Contains(entry.Name(), "-unfinished-") {
			_ = os.RemoveAll(filepath.Join(cache, entry.Name()))
		}
	}
}
