package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Build returns the path of the devserver's program. It builds it when the user's cache directory has none of the same
// source and Go version, and tells so on progress. Processes that come to it at the same time build once, and the others
// wait.
func Build(ctx context.Context, progress io.Writer) (string, error) {
	source, err := findSource()
	if err != nil {
		return "", err
	}
	key, err := source.key(ctx)
	if err != nil {
		return "", err
	}
	cache, err := openCache()
	if err != nil {
		return "", err
	}
	program := cache.program(key)
	if isFile(program) {
		cache.touch(key)
		return program, nil
	}

	unlock, err := lock(ctx, cache.lockFile(key), progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if isFile(program) { // Another process has built it meanwhile.
		return program, nil
	}
	if err := source.build(ctx, program, progress); err != nil {
		return "", err
	}
	cache.prune(key)
	return program, nil
}

// build compiles the program to the path, which it either fills completely or not at all.
func (s source) build(ctx context.Context, program string, progress io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return fmt.Errorf("no place for the devserver's program: %w", err)
	}
	partial := program + ".partial"
	defer os.Remove(partial)

	fmt.Fprintf(progress, "devserver: building it once for this source; about 7 minutes the first time, half a minute when only our own code changed\n")
	begin := time.Now()
	output := newBuildOutput(progress)
	command := s.goCommand(ctx, "build",
		"-v",              // Names each package as it comes, which is the progress.
		"-buildvcs=false", // A checkout without git, or one of another user, is no reason to fail.
		"-mod=readonly",   // Whatever GOFLAGS says: the build must not change the files that it is named after.
		"-o", partial, ".")
	command.Stdout, command.Stderr = output, output
	err := command.Run()
	output.stop()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("the build of the devserver was cut short: %w; what is compiled is kept, so another run goes on from there", context.Cause(ctx))
		}
		return fmt.Errorf("cannot build the devserver in %s: %w\n%s\nset TEMPORAL_ADDRESS to use a server that runs already", s.directory, err, output.end())
	}
	if err := os.Rename(partial, program); err != nil {
		return fmt.Errorf("cannot keep the devserver's program: %w", err)
	}
	fmt.Fprintf(progress, "devserver: built in %v\n", time.Since(begin).Round(time.Second))
	return nil
}

// goCommand is the go command in the source's directory, for that module alone.
func (s source) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = s.directory
	command.Env = append(command.Environ(), "GOWORK=off")
	command.Cancel = func() error {
		// The go command stops its compilers at an interrupt; killed, it would leave them.
		return command.Process.Signal(os.Interrupt)
	}
	command.WaitDelay = 10 * time.Second
	return command
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
