// Pin keeps the library as it is committed as a release, for the tests that replay
// with the code of a release:
//
//	cd tests && go run ./replay/pin v0.1.0
//
// It writes what a module proxy would serve, made of the last commit by the rules of
// the go command, into replay/released. Run it once all that the release has is
// committed, and commit what it wrote.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pin:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 || !semver.IsValid(arguments[0]) || semver.Canonical(arguments[0]) != arguments[0] {
		return fmt.Errorf("got %q; name one version, as in: go run ./replay/pin v0.1.0", arguments)
	}
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if changed, err := git("-C", root, "status", "--porcelain", "--", ".", ":!tests"); err != nil || changed != "" {
		return fmt.Errorf("commit first, as the last commit is what is pinned; changed are:\n%s%v", changed, errOrNothing(err))
	}
	// By the time of the commit, so that the same commit gives the same bytes.
	committed, err := git("-C", root, "log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, committed)
	if err != nil {
		return err
	}
	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	version := module.Version{Path: modfile.ModulePath(goMod), Version: arguments[0]}
	tree, err := checkout(root)
	defer os.RemoveAll(tree)
	if err != nil {
		return err
	}
	// What belongs to nested modules, these tests among them, is left out.
	var archive bytes.Buffer
	if err := zip.CreateFromDir(&archive, version, tree); err != nil {
		return err
	}
	folder := filepath.Join(root, "tests", "replay", "released", filepath.FromSlash(version.Path), "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		version.Version + ".info": fmt.Appendf(nil, "{\"Version\":%q,\"Time\":%q}\n", version.Version, at.UTC().Format(time.RFC3339)),
		version.Version + ".mod":  goMod,
		version.Version + ".zip":  archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("pinned %s, %d KB\n", version, archive.Len()>>10)
	return nil
}

// checkout writes the last commit to a temporary folder. The zip package's own way,
// through git, does not know worktrees.
func checkout(root string) (folder string, err error) {
	if folder, err = os.MkdirTemp("", "pin"); err != nil {
		return "", err
	}
	archived, err := exec.Command("git", "-C", root, "archive", "--format=tar", "HEAD").Output()
	if err != nil {
		return folder, fmt.Errorf("git archive: %w", err)
	}
	for files := tar.NewReader(bytes.NewReader(archived)); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return folder, nil
		}
		if err != nil {
			return folder, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return folder, err
		}
		name := filepath.Join(folder, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return folder, err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return folder, err
		}
	}
}

func errOrNothing(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func git(arguments ...string) (string, error) {
	output, err := exec.Command("git", arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
