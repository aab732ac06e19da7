package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.temporal.io/sdk/workflow"
)

// commits is what there is to say to the Python git server: each commit's message
// is the hash of the one before, and its branch is named by its own.
func commits(s *speaker) conversation { return &committing{speaker: s, last: "the beginning"} }

type committing struct {
	*speaker
	last string // the hash of the speaker's last commit
}

func (c *committing) round(ctx workflow.Context, n int) error {
	if err := c.hears(ctx, "Files staged successfully", "git_add", c.in("files", []string{fileToCommit(c.name, n)})); err != nil {
		return err
	}
	message := fmt.Sprintf("%s after %s", c.name, c.last)
	answer, err := c.text(ctx, "git_commit", c.in("message", message))
	if err != nil {
		return err
	}
	const done = "Changes committed successfully with hash "
	if !strings.HasPrefix(answer, done) {
		return fmt.Errorf("the commit is told as %q", answer)
	}
	c.last = strings.TrimPrefix(answer, done)

	log, err := c.text(ctx, "git_log", c.in("max_count", 1))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(log, "Commit history:\nCommit: "+c.last+"\n") || !strings.Contains(log, "\nMessage: "+message+"\n") {
		return fmt.Errorf("commit %s is told as %s", c.last, log)
	}
	show, err := c.text(ctx, "git_show", c.in("revision", c.last))
	if err != nil {
		return err
	}
	if !strings.Contains(show, "\n    "+message+"\n") || !strings.Contains(show, fileToCommit(c.name, n)) {
		return fmt.Errorf("commit %s is shown as %s", c.last, show)
	}
	branch := "at-" + c.last
	return c.hears(ctx, fmt.Sprintf("Created branch '%s' from 'main'", branch), "git_create_branch", c.in("branch_name", branch))
}

// in returns arguments for a tool that works on the repository.
func (c *committing) in(key string, value any) map[string]any {
	return map[string]any{"repo_path": c.dir, key: value}
}

func (c *committing) remembers(ctx workflow.Context) (string, error) {
	return c.text(ctx, "git_branch", c.in("branch_type", "local"))
}

// fileToCommit is the name of a file that a round commits.
func fileToCommit(block string, round int) string { return fmt.Sprintf("%s-%d.txt", block, round) }

// gitAlone keeps git to the repository's own configuration.
var gitAlone = []string{"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_NOSYSTEM=1"}

// repository makes the row's directory a repository with a commit, and with the
// files that the blocks are to commit.
func repository(b *bundle) {
	b.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		b.Skipf("the git server needs git: install it from https://git-scm.com or by your system's packages (%v)", err)
	}
	for _, arguments := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"config", "user.name", "nobody"},
		{"config", "user.email", "nobody@example.com"},
		{"commit", "--quiet", "--allow-empty", "--message=begin"},
	} {
		command := exec.CommandContext(b.ctx, "git", arguments...)
		command.Dir, command.Env = b.dir, append(os.Environ(), gitAlone...)
		if output, err := command.CombinedOutput(); err != nil {
			b.Fatalf("git %s: %v\n%s", arguments[0], err, output)
		}
	}
	for _, block := range []string{"first", "second", "killed", "after-killed"} {
		for round := range rounds {
			name := fileToCommit(block, round)
			if err := os.WriteFile(filepath.Join(b.dir, name), []byte(name), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
}
