package mcpsession_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// The library does not print, log globally or panic: what it has to say goes into
// errors and into the loggers that it is given.
func TestLibraryDoesNotPrintOrPanic(t *testing.T) {
	t.Parallel()
	for _, p := range importOrder {
		err := filepath.WalkDir(p.name, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, "transporttest") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && banned(call.Fun) {
					t.Errorf("%s: a call that the library does not make", files.Position(call.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func banned(function ast.Expr) bool {
	switch f := function.(type) {
	case *ast.Ident:
		return f.Name == "panic" || f.Name == "print" || f.Name == "println"
	case *ast.SelectorExpr:
		p, ok := f.X.(*ast.Ident)
		return ok && (p.Name == "fmt" && strings.HasPrefix(f.Sel.Name, "Print") ||
			p.Name == "log" && (strings.HasPrefix(f.Sel.Name, "Print") || strings.HasPrefix(f.Sel.Name, "Fatal") || strings.HasPrefix(f.Sel.Name, "Panic")))
	}
	return false
}
