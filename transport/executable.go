package transport

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// findExecutable returns the absolute path of the program that the server's
// process will run. It does so before the start, in the server's own directory
// and PATH, where [exec.Command] would use the worker's.
func findExecutable(name, dir string, env *environment) (string, error) {
	if dir != "" {
		info, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return "", Permanent("directory-not-found", fmt.Errorf(
				"transport: server %q: %q is not a directory on this worker; create it, or change CommandOptions.Dir", name, dir))
		}
		if err != nil {
			return "", fmt.Errorf("transport: server %q: CommandOptions.Dir: %w", name, err)
		}
	}

	if filepath.Base(name) != name {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		found, err := exec.LookPath(path)
		if err != nil {
			return "", lookError(name, err, fmt.Sprintf("there is none at %q", path))
		}
		return filepath.Abs(found)
	}

	found, err := lookInPath(name, env.get("PATH"))
	if err != nil {
		return "", lookError(name, err, "it is in no directory of the server's PATH")
	}
	return found, nil
}

// lookInPath skips directories that are relative or empty, as [exec.LookPath]
// does: what they name depends on where the server happens to run.
func lookInPath(name, path string) (string, error) {
	var unusable error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil {
			return found, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, exec.ErrNotFound) && unusable == nil {
			unusable = err
		}
	}
	if unusable != nil {
		return "", unusable
	}
	return "", exec.ErrNotFound
}

func lookError(name string, err error, where string) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EISDIR) {
		return Permanent("not-executable", fmt.Errorf(
			"transport: server %q: %w: it is no file that this worker's user may execute; set its mode, or name another", name, err))
	}
	remedy := "give its full path, or set PATH in CommandOptions.Env"
	if strings.ContainsRune(name, '/') {
		remedy = "mind that it is relative to CommandOptions.Dir, the worker's directory by default, and that ~ is not expanded"
	}
	return Permanent("executable-not-found", fmt.Errorf(
		"transport: no executable %q: %s; install it on this worker, %s%s", name, where, remedy, slashHint(name)))
}

// slashHint helps with a whole command line given as the name.
func slashHint(name string) string {
	if strings.ContainsAny(name, " \t") {
		return " (arguments are given one by one, not in the name)"
	}
	return ""
}

// startError says what the system's refusal to run path means.
func startError(name, path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The file itself was found a moment ago.
		return Permanent("executable-not-found", fmt.Errorf(
			"transport: start server %q: %q, or the interpreter that its first line names, does not exist: %w", name, path, err))
	case errors.Is(err, fs.ErrPermission):
		return Permanent("not-executable", fmt.Errorf(
			"transport: start server %q: this worker's user may not execute %q, or not enter CommandOptions.Dir: %w", name, path, err))
	case errors.Is(err, syscall.ENOEXEC):
		return Permanent("not-executable", fmt.Errorf(
			"transport: start server %q: %q is no program for this system, nor a script that begins with \"#!\": %w", name, path, err))
	}
	return fmt.Errorf("transport: start server %q: %w", name, err)
}
