package interop

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"
)

// thoughts is what there is to say to npm's sequential-thinking, which keeps a
// history of thoughts and the branches of it.
func thoughts(s *speaker) conversation {
	return &thinking{speaker: s, history: pondered{Branches: []string{}}}
}

type thinking struct {
	*speaker
	history pondered // as the last answer has it
}

// pondered is what the server has to say to a thought.
type pondered struct {
	ThoughtNumber, TotalThoughts int
	NextThoughtNeeded            bool
	Branches                     []string
	ThoughtHistoryLength         int
}

// round has five thoughts, of which the third revises one and the last begins a
// branch.
func (t *thinking) round(ctx workflow.Context, n int) error {
	for i := range callsPerRound {
		thought := t.next()
		switch i {
		case 2:
			thought["isRevision"], thought["revisesThought"] = true, t.history.ThoughtHistoryLength
		case 4:
			thought["branchFromThought"], thought["branchId"] = 1, fmt.Sprintf("%s-%d-%d", t.name, n, t.history.ThoughtHistoryLength)
		}
		if err := t.think(ctx, thought); err != nil {
			return err
		}
	}
	return nil
}

// next is the thought that follows from the last answer.
func (t *thinking) next() map[string]any {
	length := t.history.ThoughtHistoryLength
	return map[string]any{
		"thought":           fmt.Sprintf("%s after %d thoughts and %v", t.name, length, t.history.Branches),
		"thoughtNumber":     length + 1,
		"totalThoughts":     length, // too small, which the server mends
		"nextThoughtNeeded": length%2 == 0,
	}
}

func (t *thinking) think(ctx workflow.Context, thought map[string]any) error {
	want := t.history
	want.ThoughtHistoryLength++
	want.ThoughtNumber, want.TotalThoughts = want.ThoughtHistoryLength, want.ThoughtHistoryLength
	want.NextThoughtNeeded = thought["nextThoughtNeeded"].(bool)
	if branch, ok := thought["branchId"].(string); ok {
		want.Branches = append(want.Branches[:len(want.Branches):len(want.Branches)], branch)
	}
	if t.history.ThoughtHistoryLength == 0 {
		thought["totalThoughts"] = 1 // it must be positive
	}
	var got pondered
	if err := t.structured(ctx, "sequentialthinking", thought, &got); err != nil {
		return err
	}
	t.history = got
	return same(want, got)
}

// remembers costs a thought more, since nothing else makes the server tell.
func (t *thinking) remembers(ctx workflow.Context) (string, error) {
	err := t.think(ctx, t.next())
	return strings.Join(t.history.Branches, " "), err
}
