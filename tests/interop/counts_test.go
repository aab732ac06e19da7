package interop

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"
)

// counts is what there is to say to the counter on the Python SDK: what is counted
// follows from the total and from the notes, and what is noted from the count.
func counts(s *speaker) conversation { return &counting{speaker: s} }

type counting struct {
	*speaker
	total int
	notes []string
}

// The SDK wraps what is no object.
type wrapped[T any] struct{ Result T }

func (c *counting) round(ctx workflow.Context, n int) error {
	if err := c.incr(ctx, c.total%7+n+1); err != nil {
		return err
	}
	var count wrapped[int]
	if err := c.structured(ctx, "get", nil, &count); err != nil {
		return err
	}
	if err := same(c.total, count.Result); err != nil {
		return err
	}
	said := fmt.Sprintf("%s heard %d", c.name, count.Result)
	c.notes = append(c.notes, said)
	var notes wrapped[[]string]
	if err := c.structured(ctx, "note", map[string]any{"text": said}, &notes); err != nil {
		return err
	}
	if err := same(c.notes, notes.Result); err != nil {
		return err
	}
	if err := c.incr(ctx, len(notes.Result)); err != nil {
		return err
	}
	_, err := c.remembers(ctx)
	return err
}

func (c *counting) incr(ctx workflow.Context, by int) error {
	c.total += by
	var count wrapped[int]
	if err := c.structured(ctx, "incr", map[string]any{"by": by}, &count); err != nil {
		return err
	}
	return same(c.total, count.Result)
}

func (c *counting) remembers(ctx workflow.Context) (string, error) {
	var notes wrapped[[]string]
	if err := c.structured(ctx, "notes", nil, &notes); err != nil {
		return "", err
	}
	return strings.Join(notes.Result, ", "), same(append([]string{}, c.notes...), notes.Result)
}
