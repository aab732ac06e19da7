package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// keepUnused is how long a program stays in the cache after its last use. One has 200 MB.
const keepUnused = 14 * 24 * time.Hour

// cache is the directory of built devservers, each in a directory that is named by its key.
type cache struct{ directory string }

func openCache() (cache, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return cache{}, fmt.Errorf("no cache directory for the devserver's program: %w; set it, or set TEMPORAL_ADDRESS to use a server that runs already", err)
	}
	directory := filepath.Join(user, "mcpsession", "devserver")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return cache{}, fmt.Errorf("no cache directory for the devserver's program: %w", err)
	}
	return cache{directory}, nil
}

func (c cache) program(key string) string {
	// Windows runs only what has this ending, and no other system minds.
	return filepath.Join(c.directory, key, "devserver.exe")
}

func (c cache) lockFile(key string) string {
	return filepath.Join(c.directory, key+".lock")
}

// touch notes that the program is in use, for prune. A cache that can only be read, made elsewhere, works without.
func (c cache) touch(key string) {
	now := time.Now()
	_ = os.Chtimes(filepath.Dir(c.program(key)), now, now)
}

// prune removes the programs of other keys that nobody has used for long. What can't be removed stays until another time.
func (c cache) prune(key string) {
	entries, err := os.ReadDir(c.directory)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || entry.Name() == key || time.Since(info.ModTime()) < keepUnused {
			continue
		}
		_ = os.RemoveAll(filepath.Join(c.directory, entry.Name()))
		_ = os.Remove(c.lockFile(entry.Name()))
	}
}
