package tests

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// What was there before a restart is there after it: a finished workflow and its result, and a new namespace beside the
// old one. The file's name has what a URI would give a meaning to.
func TestDatabaseSurvivesARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "my 50%25 ?db#1.sqlite")
	before := start(t, "-db", file)
	c := before.dial(t, client.DefaultNamespace)
	runWorker(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "kept", TaskQueue: taskQueue}, Steps, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Get(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := before.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := before.awaitExit(t); err != nil {
		t.Fatal(err)
	}

	// The file alone is the whole database: it may be moved.
	moved := filepath.Join(t.TempDir(), "moved.sqlite")
	if err := os.Rename(file, moved); err != nil {
		t.Fatal(err)
	}
	after := start(t, "-db", moved, "-namespace", "default,added")
	described, err := after.dial(t, client.DefaultNamespace).DescribeWorkflowExecution(ctx, "kept", run.GetRunID())
	if err != nil {
		t.Fatal(err)
	}
	if status := described.GetWorkflowExecutionInfo().GetStatus(); status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Errorf("the workflow is %v after the restart, want completed", status)
	}
	added := after.dial(t, "added")
	runWorker(t, added)
	if err := runSteps(t, added, 1); err != nil {
		t.Errorf("in the added namespace: %v", err)
	}
}

// Two servers on one file would take its history from each other, so the second one doesn't start.
func TestDatabaseInUse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.db")
	start(t, "-db", file)
	_, message := refuse(t, "-address", "127.0.0.1:0", "-ui", "none", "-db", file)
	for _, part := range []string{"-db " + file, "locked", "stop the server that has it open"} {
		if !strings.Contains(message, part) {
			t.Errorf("message %q, want it to say %q", message, part)
		}
	}
}

// A file that is something else is left alone.
func TestFileThatIsNoDatabase(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "notes.txt")
	notes := strings.Repeat("not a database\n", 1000)
	if err := os.WriteFile(file, []byte(notes), 0o600); err != nil {
		t.Fatal(err)
	}
	_, message := refuse(t, "-address", "127.0.0.1:0", "-ui", "none", "-db", file)
	for _, part := range []string{"-db " + file, "not a database", "name another file"} {
		if !strings.Contains(message, part) {
			t.Errorf("message %q, want it to say %q", message, part)
		}
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != notes {
		t.Errorf("the file was changed (%v)", err)
	}
}
