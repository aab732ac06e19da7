package crash

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The table in the documentation of package session is this one, row by row.
func TestCrashPointsAreDocumented(t *testing.T) {
	t.Parallel()
	documented := documentedTable(t)
	for i := range max(len(table), len(documented)) {
		switch {
		case i >= len(table):
			t.Errorf("the documentation has a row that is not tested: %q", documented[i])
		case i >= len(documented):
			t.Errorf("the documentation has no row %q", table[i].cells())
		case !slices.Equal(documented[i], table[i].cells()):
			t.Errorf("the documentation has %q, the test %q", documented[i], table[i].cells())
		}
	}
}

// documentedTable returns the cells of the rows of the documentation's table.
func documentedTable(t *testing.T) (rows [][]string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../session/doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(file.Doc.Text(), "\n\tstep  killed  ")
	if !found {
		t.Fatal("the documentation of package session has no table of crash points")
	}
	_, text, _ = strings.Cut(text, "\n") // the rest of the head
	for line := range strings.Lines(text) {
		line, ok := strings.CutPrefix(line, "\t")
		if !ok {
			break
		}
		var cells []string
		for cell := range strings.SplitSeq(line, "  ") {
			if cell = strings.TrimSpace(cell); cell != "" {
				cells = append(cells, cell)
			}
		}
		rows = append(rows, cells)
	}
	return rows
}
