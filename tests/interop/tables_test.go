package interop

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"
)

// tables is what there is to say to the Python sqlite server: each round has a
// table, whose row is made of the row of the last one.
func tables(s *speaker) conversation { return &tabling{speaker: s, last: 3} }

type tabling struct {
	*speaker
	last   int // the value that was read last
	tables []string
}

func (t *tabling) round(ctx workflow.Context, n int) error {
	table := fmt.Sprintf("after_%d_in_%d", t.last, n)
	create := fmt.Sprintf("CREATE TABLE %s (value INTEGER)", table)
	if err := t.hears(ctx, "Table created successfully", "create_table", query(create)); err != nil {
		return err
	}
	insert := fmt.Sprintf("INSERT INTO %s VALUES (%d + %d)", table, t.last, n)
	if err := t.hears(ctx, "[{'affected_rows': 1}]", "write_query", query(insert)); err != nil {
		return err
	}
	answer, err := t.text(ctx, "read_query", query("SELECT value FROM "+table))
	if err != nil {
		return err
	}
	if err := same(fmt.Sprintf("[{'value': %d}]", t.last+n), answer); err != nil {
		return err
	}
	if _, err := fmt.Sscanf(answer, "[{'value': %d}]", &t.last); err != nil {
		return err
	}
	t.tables = append(t.tables, fmt.Sprintf("{'name': '%s'}", table))
	list := "[" + strings.Join(t.tables, ", ") + "]"
	if err := t.hears(ctx, list, "list_tables", nil); err != nil {
		return err
	}
	insight := fmt.Sprintf("%s has seen %d", t.name, t.last)
	return t.hears(ctx, "Insight added to memo", "append_insight", map[string]any{"insight": insight})
}

func query(text string) map[string]any { return map[string]any{"query": text} }

func (t *tabling) remembers(ctx workflow.Context) (string, error) {
	return t.text(ctx, "list_tables", nil)
}
