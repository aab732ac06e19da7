package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const devserverModule = "github.com/mcpsession/mcpsession/devserver"

// source is the directory that the devserver's module is in.
type source struct{ directory string }

// findSource looks for it in the checkout that the working directory is in, from there upwards.
func findSource() (source, error) {
	working, err := os.Getwd()
	if err != nil {
		return source{}, fmt.Errorf("cannot look for the devserver's source: %w", err)
	}
	for directory := working; ; {
		candidate := filepath.Join(directory, "devserver")
		if isModule(filepath.Join(candidate, "go.mod"), devserverModule) {
			return source{candidate}, nil
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return source{}, fmt.Errorf(
				"no directory from %s upwards has devserver/go.mod of module %s: run in a checkout of it, or set TEMPORAL_ADDRESS to use a server that runs already",
				working, devserverModule)
		}
		directory = parent
	}
}

func isModule(goMod, module string) bool {
	content, err := os.ReadFile(goMod)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(content)) {
		if strings.TrimSpace(line) == "module "+module {
			return true
		}
	}
	return false
}

// key names the program that the source gives: a hash of what goes into it. Its dependencies are in it through go.sum.
func (s source) key(ctx context.Context) (string, error) {
	version, err := s.goVersion(ctx)
	if err != nil {
		return "", err
	}
	names, err := filepath.Glob(filepath.Join(s.directory, "*.go"))
	if err != nil {
		return "", fmt.Errorf("cannot list the devserver's source in %s: %w", s.directory, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	names = append(names, filepath.Join(s.directory, "go.mod"), filepath.Join(s.directory, "go.sum"))

	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", version)
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("cannot read the devserver's source: %w", err)
		}
		// The length keeps the end of one file and the start of the next apart.
		fmt.Fprintf(hash, "%s %d\n", filepath.Base(name), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// goVersion returns the Go version and platform that the source is built with, which its go.mod has a say in.
func (s source) goVersion(ctx context.Context) (string, error) {
	version, err := s.goCommand(ctx, "version").Output()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("the go command is needed to build the devserver: %w; install Go and have it in PATH, or set TEMPORAL_ADDRESS to use a server that runs already", err)
	case errors.As(err, &exit):
		return "", fmt.Errorf("go version in %s: %w: %s", s.directory, err, strings.TrimSpace(string(exit.Stderr)))
	case err != nil:
		return "", fmt.Errorf("go version in %s: %w", s.directory, err)
	}
	return string(version), nil
}
