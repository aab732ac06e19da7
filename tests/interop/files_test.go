package interop

import (
	"fmt"
	"path/filepath"
	"strings"

	"go.temporal.io/sdk/workflow"
)

// files is what there is to say to npm's filesystem: a directory and a file in it
// are named by what was read last.
func files(s *speaker) conversation { return &filing{speaker: s, last: "nothing"} }

type filing struct {
	*speaker
	last string // what was read last
}

func (f *filing) round(ctx workflow.Context, n int) error {
	directory := filepath.Join(f.dir, fmt.Sprintf("%s-%d-after-%d", f.name, n, len(f.last)))
	if err := f.hears(ctx, "Successfully created directory "+directory, "create_directory", map[string]any{"path": directory}); err != nil {
		return err
	}
	draft, final := filepath.Join(directory, "draft"), filepath.Join(directory, fmt.Sprint(len(f.last)))
	content := fmt.Sprintf("%s wrote\nround %d\n", f.name, n)
	if err := f.hears(ctx, "Successfully wrote to "+draft, "write_file", map[string]any{"path": draft, "content": content}); err != nil {
		return err
	}
	before, after := fmt.Sprintf("round %d", n), fmt.Sprintf("after %s", strings.Fields(f.last)[0])
	diff, err := f.text(ctx, "edit_file", map[string]any{
		"path": draft, "edits": []map[string]any{{"oldText": before, "newText": after}},
	})
	if err != nil {
		return err
	}
	if !strings.Contains(diff, "-"+before+"\n+"+after+"\n") {
		return fmt.Errorf("the edit is told as %s", diff)
	}
	moved := fmt.Sprintf("Successfully moved %s to %s", draft, final)
	if err := f.hears(ctx, moved, "move_file", map[string]any{"source": draft, "destination": final}); err != nil {
		return err
	}
	f.last, err = f.text(ctx, "read_text_file", map[string]any{"path": final})
	if err != nil {
		return err
	}
	return same(fmt.Sprintf("%s wrote\n%s\n", f.name, after), f.last)
}

func (f *filing) remembers(ctx workflow.Context) (string, error) {
	return f.text(ctx, "list_directory", map[string]any{"path": f.dir})
}
